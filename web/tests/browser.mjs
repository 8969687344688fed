// The playground in the installed Chromium, without a network.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PAGE = process.env.PLAYGROUND ?? join(ROOT, "target/playground.html");
export const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** Reason why the page cannot be tested here, or nothing. In CI a reason is an error. */
export const missing = !BROWSER ? "chromium is missing: apt-get install chromium" : !existsSync(PAGE) ? `${PAGE} is missing: make web` : "";
if (missing && process.env.CI === "true") throw new Error(missing);

let browser;
export async function start() {
  browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"] });
}
export async function stop() {
  await browser?.close();
}

/** Opens the page, runs a test, and fails on errors of scripts and on requests to anywhere. */
export async function withPage(address, options, run) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", ({ message }) => wrong.push(message));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) wrong.push(`a request to ${request.url()}`);
  });
  await page.goto(`${pathToFileURL(PAGE).href}${address}`);
  await simulated(page);
  await run(page);
  await context.close();
  assert.deepEqual(wrong, []);
}

/** Waits until all sides that are shown have been simulated, or an error is shown. */
export async function simulated(page) {
  await page.waitForFunction(() => window.playground?.timing.done > 0, null, { timeout: 60_000 });
}

/** Changes something and waits for the result. Returns ms until the first and until all of it was shown. */
export async function change(page, to) {
  await page.evaluate((to) => window.playground.change(to), to);
  await simulated(page);
  return page.evaluate(() => window.playground.timing);
}

/** Measures up to three times, and says so. A failure does not count while other work disturbs the machine. */
export async function upToThreeTimes(context, measure) {
  for (let go = 1; ; go++) {
    try {
      return await measure();
    } catch (error) {
      context.diagnostic(`try ${go}: ${error.message}`);
      if (go < 3) continue;
      const load = loadavg()[0];
      if (load > cpus().length + 1) return context.skip(`other work disturbs the machine, load ${load.toFixed(1)}: ${error.message}`);
      throw error;
    }
  }
}

export const text = (page, id) => page.locator(`#${id}`).innerText();
