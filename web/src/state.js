// What a person chose, its form in the address, and the scenario that it stands for.

/** @import { Description, Side, Written } from "./types" */

/**
 * @typedef {{
 *   start: string, plan: string, apps: string[], file: string, text: string, off: string[],
 *   down: number | null, up: number | null, rtt: number | null, buffer: number | null, players: number | null, seed: number | null,
 *   a: string, b: string,
 * }} State
 */

/** Both sides of the page: the gateway, and another beside it. @type {Side[]} */
export const BOTH = ["a", "b"];
/** The start that is made of a plan and applications; others are names of scenarios and households, or `FILE`. */
export const OWN = "own";
/** The start that is a text of the person's own. */
export const FILE = "file";
/** The gateway as the start has it. */
export const AS_IS = "as-is";
/** Before the word of a queue that stands right at the line. Other choices are names of presets. */
export const QUEUE = "queue.";
/** Nothing to compare with. */
export const NOTHING = "";

/** @type {State} */
export const FIRST = {
  start: OWN,
  plan: "vdsl-50-10",
  apps: ["valorant", "photos-upload", "netflix"],
  file: "",
  text: "",
  off: [],
  down: null,
  up: null,
  rtt: null,
  buffer: null,
  players: null,
  seed: null,
  a: AS_IS,
  b: NOTHING,
};

/** Numbers in the address, and what they may be: Mbit/s, Mbit/s, ms, ms of the upstream rate, players, seed. */
const NUMBERS = {
  down: { least: 0.01, most: 10_000 },
  up: { least: 0.01, most: 10_000 },
  rtt: { least: 0, most: 10_000 },
  buffer: { least: 1, most: 60_000 },
  players: { least: 1, most: 1000, isWhole: true },
  seed: { least: 0, most: Number.MAX_SAFE_INTEGER, isWhole: true },
};
const KEYS = /** @type {(keyof typeof NUMBERS)[]} */ (Object.keys(NUMBERS));

/** Most bytes of a scenario in an address; browsers cut longer ones. */
const LONGEST_TEXT = 200_000;

/**
 * The part of an address after `#`; empty if the scenario is too long for one.
 * @param {State} state
 */
export async function toAddress(state) {
  const words = new URLSearchParams();
  if (state.start === OWN) {
    words.set("plan", state.plan);
    words.set("with", state.apps.join(","));
  }
  if (state.start === FILE) {
    if (state.text.length > LONGEST_TEXT) return "";
    words.set("name", state.file);
    words.set("toml", await packed(state.text));
  }
  if (state.off.length) words.set("off", state.off.join(","));
  for (const key of KEYS) if (state[key] !== null) words.set(key, String(state[key]));
  if (state.a !== AS_IS) words.set("a", state.a);
  if (state.b !== NOTHING) words.set("b", state.b);
  return `#${state.start}?${words.toString().replaceAll("%2C", ",")}`;
}

/**
 * Reads an address. What it does not say, or says in a way that makes no sense, is as in `FIRST`.
 * @param {string} hash
 * @returns {Promise<State>}
 */
export async function fromAddress(hash) {
  const [, start, rest = ""] = /^#([^?]*)\??(.*)$/.exec(hash) ?? [];
  if (!start) return FIRST;
  const words = new URLSearchParams(rest);
  const list = (/** @type {string} */ key) => (words.get(key) ?? "").split(",").filter(Boolean);
  const number = (/** @type {keyof typeof NUMBERS} */ key) => {
    const { least, most, isWhole } = { isWhole: false, ...NUMBERS[key] };
    const value = Number(words.get(key) || NaN);
    return value >= least && value <= most && (!isWhole || Number.isInteger(value)) ? value : null;
  };
  return {
    ...FIRST,
    ...Object.fromEntries(KEYS.map((key) => [key, number(key)])),
    start,
    plan: words.get("plan") ?? FIRST.plan,
    apps: words.has("with") ? list("with") : FIRST.apps,
    file: start === FILE ? (words.get("name") ?? "scenario.toml") : "",
    text: start === FILE ? await unpacked(words.get("toml") ?? "") : "",
    off: list("off"),
    a: words.get("a") ?? AS_IS,
    b: words.get("b") ?? NOTHING,
  };
}

/** @typedef {{ shipped: Record<string, string>, loads: string[] }} Known texts of scenarios, and names of the presets of transfers */

/**
 * The scenario before sliders, switches and gateways.
 * @param {State} state
 * @param {Known} known
 * @returns {Written}
 */
export function started(state, known) {
  const file = `${state.start}.toml`;
  if (state.start === FILE) return { text: state.text, file: state.file, overrides: [] };
  if (Object.hasOwn(known.shipped, state.start)) return { text: known.shipped[state.start], file, overrides: [] };
  if (state.start !== OWN) return { text: "", file, overrides: [["household", state.start]] };
  // The game has ten seconds alone, so that everybody sees what the uploads and downloads do to it.
  const apps = state.apps.map((name) =>
    known.loads.includes(name) ? `    { preset = ${JSON.stringify(name)}, set = { start = "10s" } },\n` : `    ${JSON.stringify(name)},\n`,
  );
  const list = apps.length ? `with = [\n${apps.join("")}]\n` : "";
  return { text: `name = "home"\nduration = "60s"\nwarmup = "10s"\nplan = ${JSON.stringify(state.plan)}\n${list}`, file: "home.toml", overrides: [] };
}

/**
 * The scenario of one side.
 * @param {State} state
 * @param {Side} side
 * @param {Known} known
 * @param {Description} base describes `started`
 * @returns {Written}
 */
export function written(state, side, known, base) {
  const start = started(state, known);
  return { ...start, overrides: [...start.overrides, ...gateway(state, state[side], base), ...shared(state, base)] };
}

/**
 * The place of the queue in front of the line: in the modem, or in the gateway.
 * @param {Description} base
 */
export function queuesAtLine({ keys: { gateway = {} } }) {
  return { up: gateway.modem ? "gateway.modem" : "gateway.up", down: gateway.isp ? "gateway.isp" : "gateway.down" };
}

/**
 * @param {State} state
 * @param {string} choice
 * @param {Description} base
 * @returns {[string, string][]}
 */
function gateway({ buffer, up }, choice, base) {
  const places = queuesAtLine(base);
  if (choice.startsWith(QUEUE)) {
    const queue = `{ queue = ${JSON.stringify(choice.slice(QUEUE.length))} }`;
    return [
      [places.up, queue],
      [places.down, queue],
    ];
  }
  if (choice !== AS_IS && choice !== NOTHING) return [["policy", choice]];
  if (buffer === null || !base.rate_bps.up) return [];
  const bps = up === null ? base.rate_bps.up : up * 1e6;
  return [[`${places.up}.limit`, `${Math.max(3000, Math.round((bps * buffer) / 8e3))}B`]];
}

/**
 * @param {State} state
 * @param {Description} base
 * @returns {[string, string][]}
 */
function shared(state, base) {
  /** @type {[string, string][]} */
  const found = [];
  if (state.down !== null) found.push(["link.down", `${state.down * 1000}kbit`]);
  if (state.up !== null) found.push(["link.up", `${state.up * 1000}kbit`]);
  if (state.rtt !== null) found.push(["link.rtt", `${state.rtt}ms`]);
  if (state.seed !== null) found.push(["seed", String(state.seed)]);
  const game = state.players !== null && base.flows.find(({ app }) => app === "game");
  if (game) found.push([`flow.${game.name}.players`, String(state.players)]);
  const there = base.flows.map(({ name }) => name);
  for (const flow of state.off.filter((name) => there.includes(name))) found.push([`flow.${flow}.enabled`, "false"]);
  return found;
}

/** @param {string} text */
async function packed(text) {
  const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Empty if it cannot be read. What would be longer than a scenario is cut.
 * @param {string} letters
 */
async function unpacked(letters) {
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let { done, value } = await reader.read(); !done && text.length <= LONGEST_TEXT; { done, value } = await reader.read()) text += value;
    return text;
  } catch {
    return "";
  }
}
