// Files that a person opens or drops: a scenario is shown, a capture analysed; captures, traces and models are kept for scenarios that name
// them. All stay on this machine.

import { byId, el } from "./elements.js";
import { download } from "./share.js";
import { BOTH, FILE, FIRST } from "./state.js";

/** @import { Page } from "./page" */

/** The module has 4 GiB of memory at most, and an analysis needs several times the file. */
const MOST_BYTES = 512 << 20;
const CAPTURE = /\.(pcap|pcapng|cap)(\.(gz|zst))?$/i;
const TRACE = /\.(rate|trace|dist|up|down)$/i;

/**
 * @param {Page} page
 * @param {File} file
 */
export async function read(page, file) {
  const { name } = file;
  byId("capture").hidden = true;
  try {
    if (file.size > MOST_BYTES) throw new Error(`${name} has more than ${MOST_BYTES >> 20} MiB. The program reads it: gamelane analyze ${name}`);
    const isText = name.endsWith(".toml");
    if (!isText && !CAPTURE.test(name) && !TRACE.test(name)) {
      throw new Error(`${name} is none of these: a scenario (.toml), a capture (.pcap, .pcapng), a trace of rates (.rate).`);
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const text = isText ? new TextDecoder().decode(bytes) : "";
    // Only models of games have a table of sources.
    if (isText && !/^\[source\]/m.test(text)) {
      await page.change({ ...FIRST, start: FILE, file: name, text });
      return;
    }
    for (const side of BOTH) await page.simulators[side].give(name, bytes);
    if (CAPTURE.test(name)) await analyzed(page, name);
    else page.shown.say(`${name} is here for scenarios that name it.`);
    // A scenario that was refused may have waited for it.
    if (page.base === null) await page.again();
  } catch (error) {
    byId("error").hidden = false;
    byId("error").textContent = /** @type {Error} */ (error).message;
  }
}

/**
 * Shows what `gamelane analyze` prints.
 * @param {Page} page
 * @param {string} name
 */
async function analyzed(page, name) {
  const place = byId("capture");
  place.hidden = false;
  const close = el("button", { type: "button", click: () => (place.hidden = true) }, "Close");
  const title = el("h2", { tabindex: -1 }, `Analysis of ${name}`);
  place.replaceChildren(title, el("p", { role: "status" }, "Reading the packets…"), close);
  place.scrollIntoView({ block: "start" });
  title.focus({ preventScroll: true });
  // As many columns as fit, with a letter's width of the font.
  const probe = el("code", {}, "0".repeat(50));
  place.append(probe);
  const width = Math.max(40, Math.min(160, Math.floor((50 * place.clientWidth) / probe.getBoundingClientRect().width) - 4));
  try {
    const { json, problems, lines } = await page.simulators.a.analyze(name, width);
    const text = el("pre", { tabindex: 0, role: "region", "aria-label": "Findings" });
    text.append(...problems.flatMap((problem) => [el("span", { class: "warning" }, problem), "\n\n"]));
    for (const line of lines) text.append(el("span", line.style ? { class: line.style } : {}, line.text), "\n");
    const save = el("button", { type: "button", click: () => download(`${name}.analysis.json`, json, "application/json") }, "Download as JSON");
    place.replaceChildren(title, text, el("div", { class: "buttons" }, save, close));
  } catch (error) {
    place.replaceChildren(title, el("p", { class: "warning" }, /** @type {Error} */ (error).message), close);
  }
}
