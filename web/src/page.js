// Holds what a person chose, has both sides simulated, and hands the results to the drawings.

import { colours, Palette } from "./colours.js";
import { Controls } from "./controls.js";
import { byId } from "./elements.js";
import { Playback } from "./playback.js";
import { Shown } from "./shown.js";
import { AS_IS, BOTH, FILE, FIRST, fromAddress, NOTHING, OWN, started, toAddress, written } from "./state.js";

/** @import { Description, Everything, Recipe, Result, Side } from "./types" */
/** @import { News, Simulator } from "./simulator" */
/** @import { Known, State } from "./state" */

/** While a slider is dragged, changes come faster than this, and nobody copies lines. */
const REST_MS = 150;

export class Page {
  /** @type {State} */
  state = FIRST;
  /** @type {Record<Side, Result | null>} Of the newest change, as far as simulated. */
  results = { a: null, b: null };
  /** Description of the start, without what was changed. @type {Description | null} */
  base = null;
  /** When the newest change was made, and ms until its first and its whole result were shown. For measurements. */
  timing = { changed: 0, seen: 0, done: 0 };
  /** Ends when the newest change is shown whole, or was refused. */
  settled = Promise.resolve();
  /** @type {() => void} */
  #settle = () => {};
  /** @type {Record<Side, string>} */
  #failures = { a: "", b: "" };
  #change = 0;
  #start = "";
  /** The description of the start, or why it was refused. @type {Promise<Description | string>} */
  #described = Promise.resolve("");

  /**
   * @param {Record<Side, Simulator>} simulators
   * @param {Everything} everything
   * @param {Record<string, string>} shipped texts of scenarios
   * @param {(file: File) => void} read
   */
  constructor(simulators, everything, shipped, read) {
    this.simulators = simulators;
    this.everything = everything;
    /** @type {Known} */
    this.known = { shipped, loads: everything.presets.filter(({ word, group }) => word === "with" && group === "transfer").map(({ name }) => name) };
    const palette = new Palette(() => {
      this.playback.strip.redraw();
      this.playback.draw();
    });
    this.shown = new Shown(this);
    this.playback = new Playback(this, palette);
    this.controls = new Controls(byId("controls"), this.state, { everything, shipped, change: (change) => this.change(change), read });
    byId("stop").addEventListener("click", () => this.stop());
    addEventListener("hashchange", async () => this.set(await fromAddress(location.hash)));
  }

  /** @param {Partial<State>} change */
  async change(change) {
    const state = { ...this.state, ...change };
    const set = this.set(state);
    const address = await toAddress(state);
    if (state === this.state && address) history.replaceState(null, "", address);
    await set;
  }

  /**
   * Shows a state: describes its start if that is new, and then runs both sides.
   * @param {State} wanted
   */
  async set(wanted) {
    const number = ++this.#change;
    const isKnown = [OWN, FILE].includes(wanted.start) || Object.hasOwn(this.known.shipped, wanted.start) || this.everything.presets.some(({ word, name }) => word === "household" && name === wanted.start);
    this.state = isKnown ? wanted : FIRST;
    this.timing = { changed: performance.now(), seen: 0, done: 0 };
    this.#failures = { a: "", b: "" };
    this.settled = new Promise((settle) => (this.#settle = settle));
    this.shown.lines.wait();
    document.body.classList.toggle("beside", this.state.b !== NOTHING);
    const start = started(this.state, this.known);
    if (JSON.stringify(start) !== this.#start) {
      this.#start = JSON.stringify(start);
      this.clear();
      this.#described = this.simulators.a.describe(start).catch((error) => error.message);
    }
    const described = await this.#described;
    if (number !== this.#change) return;
    const base = typeof described === "string" ? null : described;
    this.base = base;
    this.controls.show(this.state, base);
    if (base === null) {
      this.#fail("a", String(described));
      return;
    }
    if (base.flows.length > 0 && base.flows.every(({ name }) => this.state.off.includes(name))) {
      this.#fail("a", "Nobody uses the line. Switch something on.");
      return;
    }
    for (const side of BOTH) {
      if (side === "b" && this.state.b === NOTHING) {
        this.results.b = null;
        continue;
      }
      this.simulators[side].run(written(this.state, side, this.known, base), (news) => number === this.#change && this.#hear(side, news));
    }
    this.#answered.clear();
    byId("progress").textContent = "";
    byId("busy").hidden = false;
  }

  /** Sides of the newest change that have ended. @type {Set<Side>} */
  #answered = new Set();

  /** The sides that are shown. */
  get sides() {
    return BOTH.filter((side) => side === "a" || this.state.b !== NOTHING);
  }

  /** Whether all that is shown belongs to the newest change and is whole. */
  get isWhole() {
    return this.sides.every((side) => this.#answered.has(side) && this.results[side]?.summary);
  }

  /**
   * Lines for the gateway of a side; none if something has been changed since, or the worker was stopped.
   * @param {Side} side
   * @returns {Promise<Recipe[] | null>}
   */
  async recipes(side) {
    const number = this.#change;
    await new Promise((go) => setTimeout(go, REST_MS));
    if (number !== this.#change) return null;
    const base = /** @type {Description} */ (this.base);
    const today = written({ ...this.state, a: AS_IS }, "a", this.known, base);
    const found = await this.simulators[side].recipes(written(this.state, side, this.known, base), today).catch(() => null);
    return number === this.#change ? found : null;
  }

  /** Runs everything again, from the start: a file may have been given. */
  again() {
    this.#start = "";
    return this.set(this.state);
  }

  /** Ends the run that goes on. */
  stop() {
    for (const side of BOTH) this.simulators[side].stop();
    byId("busy").hidden = true;
    byId("error").hidden = false;
    byId("error").textContent = `Stopped${byId("progress").textContent ? ` after ${byId("progress").textContent}` : ""}. Change something to run it again.`;
  }

  /** Takes away what belongs to an earlier start. */
  clear() {
    this.results = { a: null, b: null };
    this.#answered.clear();
    this.shown.clear();
  }

  /**
   * @param {Side} side
   * @param {News} news
   */
  #hear(side, { value, until_s, failure }) {
    if (failure !== undefined) this.#fail(side, failure);
    else if (value) this.#take(side, value);
    else if (until_s !== undefined) byId("progress").textContent = `${Math.round(until_s)} of ${this.base?.duration_s} s`;
  }

  /**
   * @param {Side} side
   * @param {string} failure
   */
  #fail(side, failure) {
    this.clear();
    this.#failures[side] = failure;
    byId("busy").hidden = true;
    byId("error").hidden = false;
    // A person moved a slider here and gave no option of a command.
    byId("error").textContent = [...new Set(Object.values(this.#failures))].filter(Boolean).join("\n\n").replaceAll(/ in --set [^\n]*?: /g, ": ");
    this.timing.done = performance.now() - this.timing.changed;
    this.#settle();
  }

  /**
   * @param {Side} side
   * @param {Result} result
   */
  #take(side, result) {
    if (Object.values(this.#failures).some(Boolean)) return;
    byId("error").hidden = true;
    this.results[side] = result;
    const all = /** @type {Description} */ (this.base).flows;
    const names = colours(all, this.everything.catalogue.apps);
    const own = result.description.flows.map(({ name }) => names[all.findIndex((flow) => flow.name === name)]);
    this.playback.show(side, result, own);
    this.shown.show();
    this.timing.seen ||= performance.now() - this.timing.changed;
    if (result.summary) this.#answered.add(side);
    if (!this.isWhole) return;
    byId("busy").hidden = true;
    this.shown.whole(own);
    this.timing.done = performance.now() - this.timing.changed;
    this.#settle();
  }
}
