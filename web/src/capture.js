// The analysis of a capture, as `gamelane analyze` prints it. The file stays on this machine.

import { el } from "./elements.js";
import { download } from "./share.js";

/** @import { Simulator } from "./workers" */

/**
 * @param {HTMLElement} place
 * @param {Simulator} simulator
 * @param {string} name
 */
export async function analyzed(place, simulator, name) {
  place.hidden = false;
  const close = el("button", { type: "button", click: () => (place.hidden = true) }, "Close");
  const title = el("h2", { tabindex: -1 }, `Analysis of ${name}`);
  const busy = el("p", { role: "status" }, "Reading the packets…");
  place.replaceChildren(title, busy, close);
  place.scrollIntoView({ block: "start" });
  title.focus({ preventScroll: true });
  // As many columns as fit, with a letter's width of the font.
  const probe = el("code", {}, "0".repeat(50));
  place.append(probe);
  const width = Math.max(40, Math.min(160, Math.floor((50 * place.clientWidth) / probe.getBoundingClientRect().width) - 4));
  probe.remove();
  try {
    const { json, lines } = await simulator.analyze(name, width);
    const text = el("pre", { tabindex: 0, "aria-label": "findings" });
    for (const line of lines) text.append(el("span", line.style ? { class: line.style } : {}, line.text), "\n");
    const save = el("button", { type: "button", click: () => download(`${name}.analysis.json`, json, "application/json") }, "Download as JSON");
    place.replaceChildren(title, text, el("div", { class: "buttons" }, save, close));
  } catch (error) {
    busy.textContent = /** @type {Error} */ (error).message;
  }
}

/** @param {string} name */
export function isCapture(name) {
  return /\.(pcap|pcapng|cap)(\.(gz|zst))?$/i.test(name);
}
