// Prints as JSON what axe finds in each page, at two widths, light and dark: node axe.cjs BROWSER PAGE…
const { readFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");
const puppeteer = require("puppeteer-core");

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function check(browser, file, theme, width) {
  const page = await browser.newPage();
  const found = [];
  page.on("pageerror", (error) => found.push(`script: ${error.message}`));
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  await page.evaluate(async () => {
    while ([...document.querySelectorAll("[data-panel]")].some((place) => !place.firstChild)) await new Promise((done) => setTimeout(done, 20));
  });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, help, nodes } of violations) found.push(`${id}: ${help} (${nodes.slice(0, 3).map(({ target }) => target.join(" ")).join("; ")})`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (over > 0) found.push(`${over} pixels are off screen`);
  await page.close();
  return found.map((each) => `${file}, ${theme}, ${width} px: ${each}`);
}

(async () => {
  const [executablePath, ...files] = process.argv.slice(2);
  const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"], headless: true });
  const found = [];
  for (const file of files) {
    for (const theme of ["light", "dark"]) {
      for (const width of [1280, 390]) found.push(...await check(browser, file, theme, width));
    }
  }
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error); process.exit(1); });
