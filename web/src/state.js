// What a person chose, its form in the address, and the scenario that it stands for.

/** @import { Side, Written } from "./types" */

/**
 * @typedef {{
 *   start: string, plan: string, apps: string[], text: string, off: string[],
 *   down: number | null, up: number | null, rtt: number | null, buffer: number | null, players: number | null,
 *   a: string, b: string, seed: number | null,
 * }} State
 */

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
  text: "",
  off: [],
  down: null,
  up: null,
  rtt: null,
  buffer: null,
  players: null,
  a: AS_IS,
  b: NOTHING,
  seed: null,
};

/** Numbers that sliders set: Mbit/s, Mbit/s, ms, ms, players. */
export const NUMBERS = /** @type {const} */ (["down", "up", "rtt", "buffer", "players", "seed"]);

/**
 * The part of an address after `#`.
 * @param {State} state
 */
export async function toAddress(state) {
  const words = new URLSearchParams();
  if (state.start === OWN) {
    words.set("plan", state.plan);
    words.set("with", state.apps.join(","));
  }
  if (state.start === FILE) words.set("toml", await packed(state.text));
  if (state.off.length) words.set("off", state.off.join(","));
  for (const key of NUMBERS) if (state[key] !== null) words.set(key, String(state[key]));
  if (state.a !== AS_IS) words.set("a", state.a);
  if (state.b !== NOTHING) words.set("b", state.b);
  return `#${state.start}?${words.toString().replaceAll("%2C", ",")}`;
}

/**
 * Reads an address. What it does not say is as in `FIRST`.
 * @param {string} hash
 * @returns {Promise<State>}
 */
export async function fromAddress(hash) {
  const [, start, rest = ""] = /^#([^?]*)\??(.*)$/.exec(hash) ?? [];
  if (!start) return FIRST;
  const words = new URLSearchParams(rest);
  const list = (/** @type {string} */ key) => (words.get(key) ?? "").split(",").filter(Boolean);
  const number = (/** @type {string} */ key) => {
    const value = Number(words.get(key));
    return words.has(key) && Number.isFinite(value) && value >= 0 ? value : null;
  };
  const numbers = Object.fromEntries(NUMBERS.map((key) => [key, number(key)]));
  return {
    ...FIRST,
    ...numbers,
    start,
    plan: words.get("plan") ?? FIRST.plan,
    apps: words.has("with") ? list("with") : FIRST.apps,
    text: start === FILE ? await unpacked(words.get("toml") ?? "") : "",
    off: list("off"),
    a: words.get("a") ?? AS_IS,
    b: words.get("b") ?? NOTHING,
  };
}

/**
 * The scenario of one side. `shipped` has the texts of scenarios, `loads` the names of presets of transfers, and `base` is the description
 * before sliders.
 * @param {State} state
 * @param {Side} side
 * @param {{ shipped: Record<string, string>, loads: string[], base: import("./types").Description | null }} known
 * @returns {Written}
 */
export function written(state, side, known) {
  const start = text(state, known);
  return { ...start, overrides: [...start.overrides, ...gateway(state, state[side], known), ...shared(state, known)] };
}

/**
 * @param {State} state
 * @param {{ shipped: Record<string, string>, loads: string[] }} known
 * @returns {Written}
 */
function text(state, known) {
  const file = `${state.start === FILE ? "scenario" : state.start}.toml`;
  if (state.start === FILE) return { text: state.text, file, overrides: [] };
  if (state.start in known.shipped) return { text: known.shipped[state.start], file, overrides: [] };
  if (state.start !== OWN) return { text: "", file, overrides: [["household", state.start]] };
  // The game has ten seconds alone, so that everybody sees what the uploads and downloads do to it.
  const apps = state.apps.map((name) =>
    known.loads.includes(name) ? `    { preset = ${JSON.stringify(name)}, set = { start = "10s" } },\n` : `    ${JSON.stringify(name)},\n`,
  );
  const list = apps.length ? `with = [\n${apps.join("")}]\n` : "";
  const lines = `name = "home"\nduration = "60s"\nwarmup = "10s"\nplan = ${JSON.stringify(state.plan)}\n${list}`;
  return { text: lines, file: "home.toml", overrides: [] };
}

/**
 * @param {State} state
 * @param {string} choice
 * @param {{ base: import("./types").Description | null }} known
 * @returns {[string, string][]}
 */
function gateway(state, choice, known) {
  if (choice === AS_IS || choice === NOTHING) return buffers(state, known.base);
  if (!choice.startsWith(QUEUE)) return [["policy", choice]];
  return [["gateway.*", `{ queue = ${JSON.stringify(choice.slice(QUEUE.length))} }`]];
}

/**
 * The buffers of today's boxes, which a slider sets in ms of the link's rate.
 * @param {State} state
 * @param {import("./types").Description | null} base the description before sliders
 * @returns {[string, string][]}
 */
function buffers({ buffer, down, up }, base) {
  if (buffer === null || !base) return [];
  const rates = { up: up === null ? base.rate_bps.up : up * 1e6, down: down === null ? base.rate_bps.down : down * 1e6 };
  const bytes = (/** @type {number} */ bps) => `${Math.max(3000, Math.round((bps * buffer) / 8e3))}B`;
  const { gateway } = base.keys;
  const places = gateway?.modem || gateway?.isp ? { up: "gateway.modem.limit", down: "gateway.isp.limit" } : { up: "gateway.up.limit", down: "gateway.down.limit" };
  return [
    [places.up, bytes(rates.up)],
    [places.down, bytes(rates.down)],
  ];
}

/**
 * @param {State} state
 * @param {{ base: import("./types").Description | null }} known
 * @returns {[string, string][]}
 */
function shared(state, { base }) {
  /** @type {[string, string][]} */
  const found = [];
  if (state.down !== null) found.push(["link.down", `${state.down * 1000}kbit`]);
  if (state.up !== null) found.push(["link.up", `${state.up * 1000}kbit`]);
  if (state.rtt !== null) found.push(["link.rtt", `${state.rtt}ms`]);
  const game = state.players !== null && base?.flows.find(({ app }) => app === "game");
  if (game) found.push([`flow.${game.name}.players`, String(state.players)]);
  for (const flow of state.off) found.push([`flow.${flow}.enabled`, "false"]);
  return found;
}

/** @param {string} text */
async function packed(text) {
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
  const letters = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} letters */
async function unpacked(letters) {
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  } catch {
    return "";
  }
}
