// What axe finds in a page that is open, and what does not fit on the screen. As a program, for pages in files, at two widths, light and
// dark, it prints the findings as JSON: node axe.mjs BROWSER PAGE…

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function violations(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run());
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.slice(0, 3).map(({ target }) => target.join(" ")).join("; ")})`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  return over > 0 ? [...found, `${over} pixels are off screen`] : found;
}

async function check(browser, file, colorScheme, width) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const found = [];
  page.on("pageerror", ({ message }) => found.push(`script: ${message}`));
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => [...document.querySelectorAll("[data-panel]")].every((place) => place.firstChild));
  found.push(...(await violations(page)));
  await page.close();
  return found.map((each) => `${file}, ${colorScheme}, ${width} px: ${each}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [executablePath, ...files] = process.argv.slice(2);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const found = [];
  for (const file of files) {
    for (const theme of ["light", "dark"]) {
      for (const width of [1280, 390]) found.push(...(await check(browser, file, theme, width)));
    }
  }
  await browser.close();
  console.log(JSON.stringify(found));
}
