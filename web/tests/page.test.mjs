// The playground as people use it.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { change, missing, ROOT, simulated, start, stop, text, upToThreeTimes, withPage } from "./browser.mjs";
import { violations } from "./axe.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const MATCH = join(ROOT, "scenarios/captures/openarena-4p-srv.pcapng");
/** It takes half a minute. */
const SLOW = ["operator"];

/** The lines for the router belong to what is shown. */
const linesCame = (page) => page.waitForFunction(() => document.getElementById("lines-box").ariaBusy === "false");
const numbers = (text) => text.match(/[\d.]+(?= ms)/g).map(Number);
const median = (times) => [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)];

describe("the playground", { skip: missing || false }, () => {
  before(start);
  after(stop);

  test("opens from a disk and answers", () =>
    withPage("", {}, async (page) => {
      assert.match(await text(page, "headline"), /^99 % of the round trips of valorant take less than \d+ ms\.$/);
      assert.match(await text(page, "figures"), /photos-upload\s+goodput, Mbit\/s\s+8\.\d/);
      assert.equal(await page.locator("#controls input[type=range]").count(), 5);
    }));

  test("the keyboard moves a slider, which keeps the focus", () =>
    withPage("", {}, async (page) => {
      const before = await text(page, "headline");
      await page.locator("#up").focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((before) => document.getElementById("headline").textContent !== before, before);
      assert.equal(await page.evaluate(() => document.activeElement.id), "up");
      assert.equal(await page.locator("output[for=up]").innerText(), "12 Mbit/s");
      assert.match(page.url(), /up=12/);
    }));

  test("two gateways are shown side by side", () =>
    withPage("", {}, async (page) => {
      await page.selectOption("#b", "cake");
      await simulated(page);
      await page.waitForFunction(() => document.getElementById("headline").textContent.includes("with CAKE"));
      const [today, cake] = numbers(await text(page, "headline"));
      assert.ok(today > 4 * cake, `${today} and ${cake} ms`);
      assert.ok(await page.locator("#house-b").isVisible());
      assert.ok(await page.locator("#aim-b").isVisible());
    }));

  test("another gateway has lines for a router, at the rates that were set", () =>
    withPage("", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
      assert.match(await text(page, "no-lines"), /as it is today/);
      assert.ok(!(await page.locator("#lines").isVisible()));
      await change(page, { b: "cake", up: 20 });
      await linesCame(page);
      const lines = await text(page, "lines");
      assert.match(lines, /uci set sqm\.wan\.qdisc='cake'/);
      const rate = Number(/^UP=(\d+) /m.exec(lines)[1]);
      assert.ok(rate > 15_000 && rate < 20_000, lines);
      await page.selectOption("#router", "tc");
      const tc = await page.locator("#lines").textContent();
      assert.match(tc, new RegExp(`cake bandwidth ${rate}000bit`));
      await page.click("#copy-lines");
      await page.getByText("Copied.", { exact: true }).waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), tc);
      await change(page, { b: "cake", up: 10 });
      await linesCame(page);
      assert.ok(!(await page.locator("#lines").textContent()).includes(`${rate}000bit`));
      assert.equal(await text(page, "lines-said"), "");
      await change(page, { a: "cake", b: "as-is" });
      await linesCame(page);
      assert.equal(await text(page, "lines-title"), "Lines for your router: CAKE, shaped");
    }));

  test("lines of an earlier change cannot be copied", () =>
    withPage("#esports-bar?b=cake", {}, async (page) => {
      const isOpen = () => page.locator("#copy-lines").isEnabled();
      await page.waitForFunction(() => window.playground.isWhole, null, { timeout: 60_000 });
      await linesCame(page);
      assert.ok(await isOpen());
      await page.evaluate(() => void window.playground.change({ b: "fq-codel" }));
      assert.ok(!(await isOpen()));
      await page.evaluate(() => window.playground.stop());
      await page.getByText("These lines are of an earlier setting.").waitFor();
      await page.selectOption("#router", "tc");
      assert.ok(!(await isOpen()));
    }));

  test("a router that cannot do it says why, and the clipboard is not needed", () =>
    withPage("#household?b=queue.htb", {}, async (page) => {
      const error = await text(page, "error");
      assert.match(error, /needs classes/);
      assert.ok(!(await page.locator("#lines-box").isVisible()) && !(await page.locator("#no-lines").isVisible()));
      await change(page, { start: "priority", b: "" });
      await linesCame(page);
      assert.match(await text(page, "lines-unsaid"), /There are no lines for this router:\s+SQM has no classes/);
      assert.ok(!(await page.locator("#lines").isVisible()) && !(await page.locator("#copy-lines").isEnabled()));
      assert.match(await page.locator("#router option:checked").innerText(), /\(no lines\)$/);
      await change(page, { start: "household", b: "fq-codel" });
      await linesCame(page);
      await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
      await page.selectOption("#router", "tc");
      await page.click("#copy-lines");
      assert.equal(await text(page, "lines-said"), "The lines are selected: copy them now.");
      assert.equal(await page.evaluate(() => getSelection().toString().trim()), (await page.locator("#lines").textContent()).trim());
    }));

  test("a slider can be dragged", () =>
    withPage("", {}, async (page) => {
      const { x, y, width, height } = await page.locator("#up").boundingBox();
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width * 0.75, y + height / 2, { steps: 8 });
      await page.mouse.move(x + width - 2, y + height / 2, { steps: 8 });
      await page.mouse.up();
      await simulated(page);
      assert.equal(await page.locator("output[for=up]").innerText(), "500 Mbit/s");
    }));

  test("an opened address gives what was left there", () =>
    withPage("", {}, async (page) => {
      await change(page, { buffer: 1000, up: 6, players: 4, seed: 7, b: "queue.fq_codel", off: ["netflix"] });
      const before = [await text(page, "headline"), await page.evaluate(() => window.playground.results.b.description.toml)];
      await page.reload();
      await simulated(page);
      assert.deepEqual([await text(page, "headline"), await page.evaluate(() => window.playground.results.b.description.toml)], before);
      assert.equal(await page.locator("output[for=buffer]").innerText(), "1000 ms");
      assert.match(before[1], /seed = 7/);
    }));

  test("an address that makes no sense opens the first page", () =>
    withPage("#toString?up=1e99&seed=1.5", {}, async (page) => {
      assert.equal(await page.locator("#start").inputValue(), "own");
      assert.match(await text(page, "headline"), /round trips of valorant/);
    }));

  test("a queue right at the line stands where the buffer is, also on cable", () =>
    withPage("#own?plan=cable-100-10&with=valorant,photos-upload&b=queue.fq_codel", {}, async (page) => {
      const [today, queue] = numbers(await text(page, "headline"));
      assert.ok(today > 200 && queue < 50, `${today} and ${queue} ms`);
    }));

  test("a line that follows a trace has no sliders that mean nothing", () =>
    withPage("#rural-lte", {}, async (page) => {
      const shown = await page.locator(".slider:visible label").allInnerTexts();
      assert.deepEqual(shown, ["Delay beyond the line, there and back", "Players in the match"]);
    }));

  test("nothing of an earlier start stays after an error or a stop", () =>
    withPage("", {}, async (page) => {
      await change(page, { off: ["valorant", "photos-upload", "netflix"] });
      assert.match(await text(page, "error"), /^Nobody uses the line/);
      for (const id of ["headline", "figures", "commands"]) assert.equal(await page.locator(`#${id}`).textContent(), "");
      assert.ok(await page.locator("#save-toml").isDisabled());
      await change(page, { off: [], players: 1000 });
      assert.match(await text(page, "error"), /`flow\.valorant\.players`: /);
      await change(page, { players: null, off: ["netflix"] });
      await page.waitForFunction(() => document.getElementById("headline").textContent.includes("valorant"));
      await page.selectOption("#start", "operator");
      await page.locator("#stop").click();
      assert.match(await text(page, "error"), /^Stopped/);
      assert.equal(await page.locator("#headline").textContent(), "");
      await page.selectOption("#start", "household");
      await page.waitForFunction(() => document.getElementById("headline").textContent.includes("quake3"));
    }));

  test("a minute is simulated and shown within 50 ms of a change", (context) =>
    withPage("#household", {}, async (page) => {
      await upToThreeTimes(context, async () => {
        const took = [];
        for (const up of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) took.push((await change(page, { up })).done);
        assert.ok(median(took) < 50, `a median of ${median(took)} ms`);
      });
    }));

  test("a longer run shows its beginning first", (context) =>
    withPage("#lan-cafe", {}, async (page) => {
      let seed = 2;
      await upToThreeTimes(context, async () => {
        const { seen, done } = await change(page, { seed: seed++ });
        assert.ok(seen < done / 2, `${seen} and ${done} ms`);
      });
    }));

  test("live, it draws 60 frames a second with five applications", (context) =>
    withPage("#own?with=valorant,photos-upload,netflix,discord-voice,web&b=fq-codel", {}, async (page) => {
      await upToThreeTimes(context, async () => {
        await page.evaluate(() => window.playground.playback.clock.go(12));
        await page.locator(".play").first().click();
        await page.waitForTimeout(2500);
        await page.locator(".play").first().click();
        const frames = await page.evaluate(() => window.playground.playback.clock.frames);
        assert.ok(frames.length > 20, `${frames.length} frames`);
        // The display has 60 frames a second, so a frame takes 16.7 ms and no less.
        assert.ok(median(frames) < 16.75, `a median of ${median(frames)} ms`);
      });
    }));

  test("what is drawn and said of the queue is what waits in it", () =>
    withPage("#own?with=valorant,photos-upload&b=cake", {}, async (page) => {
      const waiting = async (side) => Number((await page.locator(`#house-${side}`).getAttribute("aria-label")).match(/, (\d+) packets? to the internet/)[1]);
      await page.evaluate(() => window.playground.playback.clock.go(5));
      assert.ok((await waiting("a")) < 3);
      await page.evaluate(() => window.playground.playback.clock.go(30));
      assert.ok((await waiting("a")) > 100);
      assert.ok((await waiting("b")) < (await waiting("a")) / 2);
    }));

  test("shots hit what is near and miss what lags", () =>
    withPage("#own?with=valorant,photos-upload&b=cake", {}, async (page) => {
      const score = (side) =>
        page.evaluate((side) => {
          const { aims } = window.playground.playback;
          const aim = aims[side];
          aim.reset();
          // A player who always points at what is seen.
          for (let time = 15; time < 55; time += 0.25) {
            aim.draw(time, true);
            aim.shootAtTarget();
            for (let wait = 0; wait < 1; wait += 0.05) aim.draw(time + wait, true);
          }
          return aim.hits / aim.shots;
        }, side);
      const [today, cake] = [await score("a"), await score("b")];
      assert.ok(cake > 0.6, `${cake}`);
      assert.ok(today < cake / 2, `${today} and ${cake}`);
    }));

  test("the tour goes from the lag to the remedy, by keyboard alone", () =>
    withPage("", {}, async (page) => {
      await page.locator("#start-tour").focus();
      await page.keyboard.press("Enter");
      const lags = [];
      for (let step = 1; step <= 5; step++) {
        const title = page.locator("#tour h2");
        assert.match(await title.innerText(), new RegExp(`^${step} of 5`));
        assert.ok(await title.evaluate((one) => one === document.activeElement));
        await simulated(page);
        lags.push(numbers(await text(page, "headline")));
        await page.keyboard.press("Tab");
        if (step > 1) await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
      }
      const [[alone], [upload], [felt], [, better], [today, cake]] = lags;
      assert.ok(alone < 50 && upload > 150 && felt === upload && better < 50 && cake < 50 && today > 150, JSON.stringify(lags));
      assert.ok(await page.locator("#tour").isHidden());
      assert.equal(await page.evaluate(() => document.activeElement.id), "lines-title");
      await page.locator("#start-tour").focus();
      const before = page.url();
      await page.keyboard.press("Enter");
      await page.waitForFunction((before) => location.href !== before, before);
      await page.keyboard.press("Escape");
      assert.ok(await page.locator("#tour").isHidden());
      await page.waitForFunction((before) => location.href === before, before);
    }));

  test("a refused scenario says what is wrong and what is allowed", () =>
    withPage("", {}, async (page) => {
      const file = { name: "mine.toml", mimeType: "application/toml", buffer: Buffer.from('[link]\nup = "1mbit"\ndown = "1mbit"\n[[flow]]\nname = "a"\napp = "gam"\n') };
      await page.setInputFiles("#file", file);
      await page.locator("#error").waitFor();
      const refused = /`flow\.a\.app` in mine\.toml, line 6[\s\S]*"gam"[\s\S]*did you mean "game"\?/;
      assert.match(await text(page, "error"), refused);
      // It is said again after a change that does not mend it.
      await change(page, { b: "cake" });
      assert.match(await text(page, "error"), refused);
      await page.setInputFiles("#file", { ...file, buffer: Buffer.from(file.buffer.toString().replace('"gam"', '"game"\nmodel = "quake3"')) });
      await page.locator("#error").waitFor({ state: "hidden" });
      assert.match(page.url(), /#file\?name=mine\.toml&toml=/);
      await page.setInputFiles("#file", { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") });
      await page.waitForFunction(() => document.getElementById("error").textContent.startsWith("notes.txt is none of these"));
      await page.setInputFiles("#file", { name: "bad.pcap", mimeType: "", buffer: Buffer.from("no packets here") });
      await page.locator("#capture pre").waitFor();
      assert.match(await text(page, "capture"), /not a packet capture/);
    }));

  test("a capture is analysed here and can be replayed by a scenario", () =>
    withPage("#match-replay", {}, async (page) => {
      assert.match(await text(page, "error"), /open the file openarena-4p-srv\.pcapng, too/);
      await page.setInputFiles("#file", MATCH);
      await page.locator("#capture pre").waitFor();
      assert.match(await text(page, "capture"), /openarena-4p-srv\.pcapng/);
      await page.locator("#error").waitFor({ state: "hidden" });
      await simulated(page);
      assert.match(await text(page, "headline"), /round trips of/);
      const [saved] = await Promise.all([page.waitForEvent("download"), page.getByText("Download as JSON").click()]);
      const document = JSON.parse(readFileSync(await saved.path(), "utf8"));
      assert.equal(document.captures[0].file, "openarena-4p-srv.pcapng");
    }));

  test("the scenario that is downloaded is the one that was simulated", () =>
    withPage("#own?with=valorant,camera&up=8&b=cake", {}, async (page) => {
      const saved = async (id) => {
        const files = [];
        page.on("download", (file) => files.push(file));
        await page.locator(id).click();
        while (files.length < (await page.evaluate(() => window.playground.sides.length))) await page.waitForTimeout(20);
        page.removeAllListeners("download");
        return Promise.all(files.map(async (file) => [file.suggestedFilename(), readFileSync(await file.path(), "utf8")]));
      };
      const [[, today], [name, toml]] = await saved("#save-toml");
      assert.equal(name, "home-cake-shaped.toml");
      assert.match(toml, /queue = "cake"/);
      assert.doesNotMatch(today, /queue = "cake"/);
      const [, [, first]] = await saved("#save-json");
      const [opened] = await Promise.all([page.context().waitForEvent("page"), page.locator("#open-report").click()]);
      assert.match(await opened.locator("h1").innerText(), /Valorant and Security camera share/);
      assert.equal(await opened.locator("figure").count(), 3);
      await page.setInputFiles("#file", { name: "home.toml", mimeType: "application/toml", buffer: Buffer.from(toml) });
      await page.waitForFunction(() => location.hash.startsWith("#file") && window.playground.timing.done);
      const [[, again]] = await saved("#save-json");
      assert.deepEqual(JSON.parse(again).runs, JSON.parse(first).runs);
    }));

  test("every scenario and household that ships can be shown", () =>
    withPage("", {}, async (page) => {
      const scenarios = readdirSync(join(ROOT, "scenarios")).filter((name) => name.endsWith(".toml")).map((name) => name.slice(0, -5));
      const households = readdirSync(join(ROOT, "presets/households")).map((name) => name.slice(0, -5));
      const offered = await page.locator("#start option").evaluateAll((options) => options.map(({ value }) => value));
      assert.deepEqual(offered, ["own", ...households.sort(), ...scenarios.sort()]);
      for (const start of offered.filter((name) => !SLOW.includes(name))) {
        await page.selectOption("#start", start);
        await simulated(page);
        const error = await page.locator("#error").isVisible();
        assert.equal(error, start === "match-replay", start);
      }
    }));

  for (const [name, options] of Object.entries({ desk: {}, "dark desk": { colorScheme: "dark" }, phone: PHONE, "dark phone": { ...PHONE, colorScheme: "dark" } })) {
    test(`axe finds nothing, and nothing is off screen: ${name}`, () =>
      withPage("#own?b=cake", options, async (page) => {
        assert.deepEqual(await violations(page), []);
        await page.locator("#start-tour").click();
        assert.deepEqual(await violations(page), []);
        await page.setInputFiles("#file", MATCH);
        await page.locator("#capture pre").waitFor();
        assert.deepEqual(await violations(page), []);
      }));
  }
});
