// What a person takes away: files, commands, and a report as a page of its own.

import { el } from "./elements.js";

/** @import { Result } from "./types" */

/**
 * A name for a file that is safe in a shell and on any disk: a stranger's address may bring the name of the scenario.
 * @param {string[]} parts
 */
export function fileName(...parts) {
  const name = parts.filter(Boolean).join("-").toLowerCase().replaceAll(/[^a-z0-9_.]+/g, "-").replaceAll(/^[-.]+|[-.]+$/g, "");
  return name.slice(0, 60) || "scenario";
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * Puts a text into the clipboard. Returns whether the browser allowed it.
 * @param {string} text
 */
export async function copied(text) {
  return (await navigator.clipboard?.writeText(text).then(() => true, () => false)) ?? false;
}

/**
 * The commands for a scenario that was downloaded.
 * @param {string} name a `fileName`
 */
export function commands(name) {
  return [
    `gamelane run ${name}.toml -o report        # the same run, with a report`,
    `gamelane tune ${name}.toml --for openwrt   # the best setting, and lines to paste in an OpenWrt router`,
    `gamelane tune ${name}.toml --for tc        # the same for a router with Linux`,
  ].join("\n");
}

const COLOURS = ["ink", "muted", "grid", "paper", "raised", "soft", "orange", "blue", "green", "pink", "steel", "ochre", "violet", "rust", "olive", "pine", "warn"];

/**
 * Opens a report as one page: the pictures as they stand, the table, the scenarios.
 * @param {{ label: string, result: Result }[]} sides
 * @param {HTMLElement} table
 * @param {string} headline
 * @param {string} question
 * @param {{ title: string, inside: HTMLElement[], canvas: HTMLCanvasElement }[]} pictures `inside` stands between title and picture
 */
export function report(sides, table, headline, question, pictures) {
  const { name, duration_s, warmup_s, seed, caveats } = sides[0].result.description;
  const style = getComputedStyle(document.documentElement);
  const variables = COLOURS.map((colour) => `--${colour}:${style.getPropertyValue(`--${colour}`)}`).join(";");
  const hashes = sides.map(({ label, result }) => `${label}: ${result.description.hash}`).join("; ");
  const page = el(
    "main",
    {},
    el("h1", {}, question || name),
    el("p", {}, el("b", {}, headline)),
    el("p", {}, `${duration_s} s simulated, statistics from ${warmup_s} s, seed ${seed}. Scenarios: ${hashes}.`),
    table.cloneNode(true),
    ...pictures.map(({ title, inside, canvas }) =>
      el("figure", {}, el("figcaption", {}, title), ...inside.map((each) => each.cloneNode(true)), el("img", { src: canvas.toDataURL(), alt: title })),
    ),
    ...caveats.map((caveat) => el("p", {}, caveat)),
    ...sides.map(({ label, result }) => el("details", {}, el("summary", {}, `Scenario: ${label}`), el("pre", {}, result.description.toml))),
  );
  const rules = `:root{${variables}}body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}
table{border-collapse:collapse}caption{caption-side:bottom;text-align:left}th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--grid)}th:first-child,th:nth-child(2),td.text{text-align:left}
td.degraded,td.unplayable{color:var(--warn);font-weight:600}figure{margin:1.5rem 0}.legend{display:flex;gap:1rem;flex-wrap:wrap}
.swatch{display:inline-block;width:.7em;height:.7em;margin-right:.5em}.swatch.a{background:var(--orange)}.swatch.b{background:var(--blue)}.dash{display:inline-block;width:1.4em;border-top:2px dashed;margin:0 .4em .25em 0}
img{max-width:100%}pre{background:var(--raised);padding:1rem;overflow:auto}`;
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;
  const title = el("title", {}, `gamelane: ${name}`);
  const text = `<!doctype html><html lang="en"><meta charset="utf-8">${policy}<meta name="viewport" content="width=device-width">${title.outerHTML}<style>${rules}</style>${page.outerHTML}</html>`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  window.open(address, "_blank", "noopener");
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
