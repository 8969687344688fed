// Words and numbers of the results: question, headline, legend, table, and what a person takes away.

import { byId, el } from "./elements.js";
import { fares, groupOf, limitsOf } from "./fares.js";
import { table } from "./figures.js";
import { Lines } from "./lines.js";
import { short } from "./numbers.js";
import { commands, copied, download, fileName, report } from "./share.js";
import { AS_IS, OWN, QUEUE } from "./state.js";

/** @import { Page } from "./page" */
/** @import { Result, Side } from "./types" */

const TODAY = "as it is today";
/** The queue of a gateway that nobody set up. */
const PLAIN = "fifo";
/** Buttons that need a whole result. */
const TAKE = ["save-toml", "save-json", "open-report"];

export class Shown {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.lines = new Lines();
    byId("save-toml").addEventListener("click", () => this.#each((label, { description }) => [fileName(description.name, label), "toml", description.toml, "application/toml"]));
    byId("save-json").addEventListener("click", () =>
      this.#each((label, { description: { name, hash }, json }) => {
        // As `gamelane run --json` begins, with the run as the module printed it.
        const text = `{"schema":1,"engine":"sim","scenario":${JSON.stringify({ name, hash })},"runs":[${json}]}`;
        return [fileName(name, label), "json", text, "application/json"];
      }),
    );
    byId("open-report").addEventListener("click", () => this.#report());
    byId("copy-address").addEventListener("click", async () => {
      this.say(`${(await copied(location.href)) ? "Copied. " : "Copy it from the browser's bar. "}The address has everything that you chose${location.protocol === "file:" ? "; it opens where this file is" : ""}.`);
    });
    this.clear();
  }

  /** @param {string} text */
  say(text) {
    byId("said").textContent = text;
  }

  /** The results that are shown, with the names of their gateways. */
  get results() {
    return this.page.sides.flatMap((side) => {
      const result = this.page.results[side];
      return result ? [{ side, label: this.#label(side), result }] : [];
    });
  }

  /**
   * The flow whose delay is shown: a game, else what may be one, else a call.
   * @param {Result} result
   * @returns {{ flow: number | null, isGame: boolean }}
   */
  subject({ description: { flows } }) {
    const first = (/** @type {string} */ group) => flows.findIndex(({ app }) => groupOf(app, this.page.everything) === group);
    const [game, other, call] = [first("game"), first("other"), first("call")];
    if (game >= 0) return { flow: game, isGame: true };
    const flow = call >= 0 ? call : other;
    return { flow: flow >= 0 ? flow : null, isGame: false };
  }

  clear() {
    for (const id of ["headline", "figures", "caveats", "toml", "commands", "said", "strip-legend", "question"]) byId(id).replaceChildren();
    for (const id of TAKE) /** @type {HTMLButtonElement} */ (byId(id)).disabled = true;
    this.lines.clear();
    this.page.playback?.clear();
  }

  /** Shows what does not need a whole run. */
  show() {
    const [first] = this.results;
    if (!first) return;
    const { description } = first.result;
    byId("question").textContent = this.page.state.start === OWN ? this.#question() : description.question;
    for (const { side, label } of this.results) byId(`title-${side}`).textContent = label;
    this.say("");
    const { flow, isGame } = this.subject(first.result);
    byId("strip").hidden = flow === null;
    byId("feel").hidden = !isGame;
    if (flow === null) return;
    const { name } = description.flows[flow];
    const limits = isGame ? limitsOf(description.flows[flow], description.keys, this.page.everything.presets) : null;
    const lines = this.results.map(({ side, label, result }) => ({ side, label, trips: result.trips[flow] }));
    this.page.playback.strip.show(lines, description.duration_s, limits);
    byId("strip-title").textContent = `Round trip of ${name}`;
    byId("strip-legend").replaceChildren(
      ...lines.map(({ side, label }) => el("span", {}, el("span", { class: `swatch ${side}` }), label)),
      ...(limits ? [limit("green", `good up to ${limits.good_ms} ms`), limit("ochre", `playable up to ${limits.playable_ms} ms`), limit("rust", `unplayable above ${limits.bad_ms} ms`)] : []),
    );
  }

  /**
   * Shows what needs a whole run.
   * @param {string[]} colours by flow
   */
  whole(colours) {
    const { results } = this;
    byId("figures").replaceChildren(table(results, colours, this.page.everything));
    byId("caveats").replaceChildren(...results[0].result.description.caveats.map((caveat) => el("li", {}, caveat)));
    const { label, result } = results[results.length - 1];
    byId("toml").textContent = result.description.toml;
    byId("commands").textContent = commands(fileName(result.description.name, results.length > 1 ? label : ""));
    this.#router();
    for (const id of TAKE) /** @type {HTMLButtonElement} */ (byId(id)).disabled = false;
    this.#headline();
  }

  /** Shows the lines of the gateway that somebody chose, or of the one that the scenario sets up. */
  async #router() {
    const { results } = this;
    const { side, label, result } = results.findLast(({ side }) => this.page.state[side] !== AS_IS) ?? results[0];
    const { gateway = {} } = result.description.keys;
    const isSetUp = gateway.shape || [gateway.up, gateway.down].some((queue) => (queue?.queue ?? PLAIN) !== PLAIN);
    const isAsIs = this.page.state[side] === AS_IS;
    const recipes = isAsIs && !isSetUp ? [] : await this.page.recipes(side);
    if (recipes) this.lines.show(label, recipes);
  }

  #headline() {
    const { results } = this;
    const { flow } = this.subject(results[0].result);
    byId("headline").textContent = "";
    if (flow === null) return;
    const { name } = results[0].result.description.flows[flow];
    const found = results.map(({ result }) => fares(result, flow, this.page.everything)[0]);
    if (!found.every((fare) => fare?.unit === "ms" && fare.value !== null)) return;
    const each = found.map(({ value }, place) => {
      const { label } = results[place];
      return `${short(value)} ms${results.length > 1 ? (label === TODAY ? " today" : ` with ${label}`) : ""}`;
    });
    const what = found[0].heading.startsWith("to the player") ? `messages of ${name} reach their player within` : `round trips of ${name} take less than`;
    byId("headline").textContent = `99 % of the ${what} ${each.join(", and ")}.`;
  }

  #question() {
    const { state, everything } = this.page;
    const title = (/** @type {string} */ word, /** @type {string} */ name) => everything.presets.find((preset) => preset.word === word && preset.name === name)?.title ?? name;
    const on = state.apps.filter((name) => !state.off.includes(name));
    const apps = [...new Set(on.map((name) => title("with", name)))];
    const last = apps.pop();
    const line = `a line of ${title("plan", state.plan)}?`;
    return apps.length ? `How do ${apps.join(", ")} and ${last} share ${line}` : `How does ${last} use ${line}`;
  }

  /** @param {Side} side */
  #label(side) {
    const choice = this.page.state[side];
    const { presets, catalogue } = this.page.everything;
    if (choice === AS_IS) return TODAY;
    if (choice.startsWith(QUEUE)) return catalogue.queues.find(({ word }) => QUEUE + word === choice)?.label ?? choice;
    const title = presets.find(({ word, name }) => word === "policy" && name === choice)?.title;
    return title ? `${title.split(",")[0]}, shaped` : choice;
  }

  /** @param {(label: string, result: Result) => [string, string, string, string]} of name, ending, text and type of a file for each side */
  #each(of) {
    if (!this.page.isWhole) return;
    for (const { label, result } of this.results) {
      const [name, ending, text, type] = of(this.results.length > 1 ? label : "", result);
      download(`${name}.${ending}`, text, type);
    }
  }

  #report() {
    if (!this.page.isWhole) return;
    const { houses, clock } = this.page.playback;
    const pictures = this.results.map(({ side, label }) => ({ title: `${label}, after ${clock.time.toFixed(1)} s`, inside: [], canvas: houses[side].canvas }));
    const strip = /** @type {HTMLCanvasElement | null} */ (document.querySelector("#strip-plot canvas"));
    if (strip) pictures.unshift({ title: byId("strip-title").textContent ?? "", inside: [byId("strip-legend")], canvas: strip });
    report(this.results, /** @type {HTMLElement} */ (byId("figures").firstElementChild), byId("headline").textContent ?? "", byId("question").textContent ?? "", pictures);
  }
}

/**
 * @param {string} colour
 * @param {string} text
 */
function limit(colour, text) {
  return el("span", {}, el("span", { class: "dash", style: `border-color: var(--${colour})` }), text);
}
