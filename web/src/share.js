// What a person takes away: the scenario as TOML, the JSON, the commands, a report as a page of its own.

import { el } from "./elements.js";

/** @import { Result } from "./types" */

/**
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * The commands that do the same with a scenario that was saved.
 * @param {string} name
 */
export function commands(name) {
  return [
    `gamelane run ${name}.toml -o report     # the same run, with a report`,
    `gamelane tune ${name}.toml --apply openwrt   # the best setting, and the lines for OpenWrt (or tc)`,
  ].join("\n");
}

/**
 * A report as one page: the pictures as they stand, the table, the scenarios.
 * @param {{ label: string, result: Result }[]} sides
 * @param {HTMLElement} table
 * @param {{ title: string, canvas: HTMLCanvasElement }[]} pictures
 */
export function report(sides, table, pictures) {
  const [{ result }] = sides;
  const { name, question, duration_s, warmup_s, seed } = result.description;
  const colours = ["ink", "muted", "grid", "paper", "raised", "soft", "orange", "blue", "green", "pink", "steel", "ochre", "violet", "rust", "olive", "pine"];
  const style = getComputedStyle(document.documentElement);
  const variables = colours.map((colour) => `--${colour}:${style.getPropertyValue(`--${colour}`)}`).join(";");
  const page = el("main");
  page.append(
    el("h1", {}, question || name),
    el("p", {}, `${duration_s} s simulated, statistics from ${warmup_s} s, seed ${seed}. ${sides.map(({ label, result }) => `${label}: scenario ${result.description.hash}`).join("; ")}.`),
    table.cloneNode(true),
    ...pictures.map(({ title, canvas }) => el("figure", {}, el("figcaption", {}, title), el("img", { src: canvas.toDataURL(), alt: title }))),
    ...result.description.caveats.map((caveat) => el("p", { class: "note" }, caveat)),
    ...sides.map(({ label, result }) => el("details", {}, el("summary", {}, `scenario: ${label}`), el("pre", {}, result.description.toml))),
  );
  const rules = `:root{${variables}}body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--grid)}th:first-child,td.text{text-align:left}
img{max-width:100%}pre{background:var(--raised);padding:1rem;overflow:auto}.swatch{display:inline-block;width:.7em;height:.7em;margin-right:.5em}`;
  const title = el("title", {}, `gamelane: ${name}`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">${title.outerHTML}<style>${rules}</style>${page.outerHTML}</html>`;
}
