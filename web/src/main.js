// The page: holds what a person chose, has it simulated, and shows it.

import { Aim } from "./aim.js";
import { analyzed, isCapture } from "./capture.js";
import { Clock, SPEEDS } from "./clock.js";
import { colours, Palette } from "./colours.js";
import { Controls } from "./controls.js";
import { byId, el } from "./elements.js";
import { groupOf, limitsOf } from "./fares.js";
import { table } from "./figures.js";
import { House } from "./house.js";
import { unpacked, workers } from "./module.js";
import { rate, short } from "./numbers.js";
import { commands, download, report } from "./share.js";
import { AS_IS, FILE, FIRST, fromAddress, NOTHING, QUEUE, toAddress, written } from "./state.js";
import { Strip } from "./strip.js";
import { Tour } from "./tour.js";
import { Simulator } from "./workers.js";

/** @import { Everything, Failure, Result, Side } from "./types" */
/** @import { State } from "./state" */

/** @type {Side[]} */
const BOTH = ["a", "b"];
const GAMES = ["game", "cloud", "mmo"];
const TODAY = "as it is today";

class Page {
  /** @type {State} */
  state = FIRST;
  /** @type {Record<Side, Result | null>} */
  results = { a: null, b: null };
  /** When a person last changed something, and how long until it was seen, in ms. For measurements. */
  timing = { changed: 0, seen: 0, done: 0 };
  palette = new Palette();
  /** @type {Record<Side, string | null>} */
  #failures = { a: null, b: null };
  /** @type {string[]} */
  #colours = [];
  /** @type {import("./types").Description | null} The description that the sliders start from. */
  #base = null;
  #sound = false;

  /**
   * @param {Record<Side, Simulator>} simulators
   * @param {Everything} everything
   * @param {Record<string, string>} shipped
   */
  constructor(simulators, everything, shipped) {
    this.simulators = simulators;
    this.everything = everything;
    this.shipped = shipped;
    this.clock = new Clock(() => this.#draw());
    this.houses = { a: this.#house("a"), b: this.#house("b") };
    this.strip = new Strip(byId("strip-plot"), this.palette, (time) => this.clock.go(time));
    this.aims = { a: this.#aim("a"), b: this.#aim("b") };
    this.controls = new Controls(byId("controls"), {
      everything,
      shipped,
      change: (change) => this.change(change),
      read: (file) => this.read(file),
    });
    this.tour = new Tour((state, time) => {
      this.change(state);
      this.clock.speed = 1;
      /** @type {HTMLSelectElement} */ (byId("speed")).value = "1";
      this.clock.go(time);
      this.clock.start();
    });
    this.#buttons();
  }

  /** @param {Side} side */
  #house(side) {
    return new House(/** @type {HTMLCanvasElement} */ (byId(`house-${side}`)), this.palette);
  }

  /** @param {Side} side */
  #aim(side) {
    const score = byId(`score-${side}`);
    return new Aim(
      /** @type {HTMLCanvasElement} */ (byId(`aim-${side}`)),
      this.palette,
      ({ hits, shots }) => (score.textContent = shots ? `${hits} of ${shots} hit` : "point and click, or arrow keys and space"),
      (isHit) => this.#sound && beep(isHit),
    );
  }

  #buttons() {
    const play = byId("play");
    play.addEventListener("click", () => (this.clock.isRunning ? this.clock.stop() : this.clock.start()));
    const speed = /** @type {HTMLSelectElement} */ (byId("speed"));
    speed.append(...SPEEDS.map((each) => el("option", { value: each, selected: each === 1 }, `${each}×`)));
    speed.addEventListener("change", () => (this.clock.speed = Number(speed.value)));
    const time = /** @type {HTMLInputElement} */ (byId("time"));
    time.addEventListener("input", () => this.clock.go(Number(time.value)));
    byId("sound").addEventListener("change", ({ target }) => (this.#sound = /** @type {HTMLInputElement} */ (target).checked));
    byId("start-tour").addEventListener("click", () => this.tour.open());
    byId("save-toml").addEventListener("click", () => {
      const side = this.state.b === NOTHING ? "a" : "b";
      const { description } = this.results[side] ?? {};
      if (description) download(`${description.name}.toml`, description.toml, "application/toml");
    });
    byId("save-json").addEventListener("click", () => {
      const [last] = this.#shown().slice(-1);
      if (last?.result.json) download(`${last.result.description.name}.json`, last.result.json, "application/json");
    });
    byId("copy-address").addEventListener("click", async () => {
      const address = location.href;
      await navigator.clipboard?.writeText(address).catch(() => {});
      byId("said").textContent = "The address of this page has everything you chose. It is copied.";
    });
    byId("open-report").addEventListener("click", () => this.#report());
    byId("stop").addEventListener("click", () => {
      for (const side of BOTH) this.simulators[side].stop();
      byId("busy").hidden = true;
    });
    addEventListener("hashchange", async () => this.set(await fromAddress(location.hash)));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      for (const file of event.dataTransfer?.files ?? []) this.read(file);
    });
  }

  /**
   * Takes a file: a scenario is opened, a capture analysed. Both can be named by a scenario afterwards.
   * @param {File} file
   */
  async read(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (file.name.endsWith(".toml") && !isModel(bytes)) {
      this.change({ ...FIRST, start: FILE, text: new TextDecoder().decode(bytes) });
      return;
    }
    for (const side of BOTH) this.simulators[side].give(file.name, bytes);
    if (isCapture(file.name)) await analyzed(byId("capture"), this.simulators.a, file.name);
    this.change({});
  }

  /** @param {Partial<State>} change */
  async change(change) {
    await this.set({ ...this.state, ...change });
    history.replaceState(null, "", await toAddress(this.state));
  }

  /** @param {State} state */
  async set(state) {
    const { start, plan, apps, text } = this.state;
    if (start !== state.start || plan !== state.plan || text !== state.text || apps.join() !== state.apps.join()) this.#base = null;
    this.state = state;
    this.timing = { changed: performance.now(), seen: 0, done: 0 };
    document.body.classList.toggle("beside", state.b !== NOTHING);
    this.#run("a");
    if (state.b === NOTHING) this.results.b = this.#failures.b = null;
    else this.#run("b");
    if (!this.#base) return;
    this.controls.show(state, this.#base);
  }

  /** @param {Side} side */
  #run(side) {
    const known = {
      shipped: this.shipped,
      loads: this.everything.presets.filter(({ word, group }) => word === "with" && group === "transfer").map(({ name }) => name),
      base: this.#base,
    };
    byId("busy").hidden = false;
    this.simulators[side].run(written(this.state, side, known), this.state.seed, ({ value, failure }) => {
      if (failure) this.#fail(side, failure);
      else if (value) this.#take(side, value);
    });
  }

  /**
   * @param {Side} side
   * @param {Failure} failure
   */
  #fail(side, failure) {
    this.results[side] = null;
    this.#failures[side] = failure.text;
    byId("busy").hidden = true;
    this.#sayFailures();
    this.controls.show(this.state, this.#base);
    this.timing.done = performance.now() - this.timing.changed;
  }

  #sayFailures() {
    const texts = new Set(BOTH.flatMap((side) => this.#failures[side] ?? []));
    byId("error").hidden = texts.size === 0;
    byId("error").textContent = [...texts].join("\n\n");
  }

  /**
   * @param {Side} side
   * @param {Result} result
   */
  #take(side, result) {
    this.results[side] = result;
    this.#failures[side] = null;
    this.#sayFailures();
    const { description } = result;
    this.#colours = colours(description.flows, this.everything.catalogue.apps);
    if (side === "a") {
      const isNew = !this.#base;
      this.#base = description;
      if (isNew) this.controls.show(this.state, description);
      byId("question").textContent = description.question || this.#title(description);
    }
    this.clock.end = description.duration_s;
    this.clock.time = Math.min(this.clock.time, description.duration_s);
    /** @type {HTMLInputElement} */ (byId("time")).max = String(description.duration_s);
    const game = this.#game(result);
    this.houses[side].show(result, this.#colours, new Set(game === null ? [] : [game]));
    if (game !== null) this.aims[side].show(result, game);
    this.#strip();
    this.#draw();
    this.timing.seen ||= performance.now() - this.timing.changed;
    if (this.#shown().every(({ result }) => result.summary)) this.#done();
  }

  /** @param {import("./types").Description} description */
  #title({ flows, rate_bps }) {
    return `${flows.map(({ label }) => label.replace(/ \[.*$/, "")).join(", ")} on a line of ${rate(rate_bps.down)} down, ${rate(rate_bps.up)} up`;
  }

  #done() {
    byId("busy").hidden = true;
    const sides = this.#shown();
    byId("figures").replaceChildren(table(sides, this.#colours, this.everything));
    byId("caveats").replaceChildren(...sides[0].result.description.caveats.map((caveat) => el("li", {}, caveat)));
    const { name, toml } = sides[sides.length - 1].result.description;
    byId("toml").textContent = toml;
    byId("commands").textContent = commands(name);
    this.#sentence(sides);
    this.timing.done = performance.now() - this.timing.changed;
    document.documentElement.dataset.ready = String(Math.round(this.timing.done));
  }

  /** @param {{ label: string, result: Result }[]} sides */
  #sentence(sides) {
    const game = this.#game(sides[0].result);
    const place = byId("headline");
    place.textContent = "";
    if (game === null) return;
    const { name } = sides[0].result.description.flows[game];
    const trips = sides.map(({ result }) => result.summary.flows[name]?.rtt_ms.p99);
    if (!trips.every(Number.isFinite)) return;
    const each = sides.map(({ label }, place) => {
      const how = label === TODAY ? "today" : `with ${label}`;
      return `${short(trips[place])} ms${sides.length > 1 ? ` ${how}` : ""}`;
    });
    place.textContent = `99 % of the round trips of ${name} take less than ${each.join(", and ")}.`;
  }

  /** The sides that have a result. */
  #shown() {
    const labels = { a: this.#label("a"), b: this.#label("b") };
    return BOTH.flatMap((side) => {
      const result = this.results[side];
      return result ? [{ side, label: labels[side], result }] : [];
    });
  }

  /** @param {Side} side */
  #label(side) {
    const choice = this.state[side];
    if (choice === AS_IS) return TODAY;
    const { presets, catalogue } = this.everything;
    if (choice.startsWith(QUEUE)) return catalogue.queues.find(({ word }) => QUEUE + word === choice)?.label ?? choice;
    const title = presets.find(({ word, name }) => word === "policy" && name === choice)?.title ?? choice;
    return title.replace(/ \(.*/, "");
  }

  /**
   * The flow whose delay is shown: the first game, else a call, else the first.
   * @param {Result} result
   */
  #game({ description: { flows } }) {
    const first = (/** @type {string[]} */ groups) => flows.findIndex(({ app }) => groups.includes(groupOf(app, this.everything)));
    const found = [first(GAMES), first(["call"]), flows.length - 1].find((place) => place >= 0);
    return found ?? null;
  }

  #strip() {
    const [first] = this.#shown();
    if (!first) return;
    const { result } = first;
    const game = this.#game(result);
    if (game === null) return;
    const { flows, keys, duration_s } = result.description;
    const lines = this.#shown().map(({ side, label, result }) => ({ side, label, trips: result.trips[game] }));
    const limits = limitsOf(flows[game], keys, this.everything.presets);
    this.strip.show(lines, duration_s, limits);
    byId("strip-title").textContent = `Round trip of ${flows[game].name}`;
    byId("strip-legend").replaceChildren(
      ...lines.map(({ side, label }) => el("span", {}, el("span", { class: `swatch ${side}` }), label)),
      el("span", { class: "soft" }, `dashed: good up to ${limits.good_ms}, playable up to ${limits.playable_ms}, bad from ${limits.bad_ms} ms`),
    );
  }

  #draw() {
    const { time, speed, isRunning } = this.clock;
    for (const { side, label, result } of this.#shown()) {
      this.houses[side].draw(time, isRunning ? speed : 1);
      byId(`title-${side}`).textContent = label;
      this.#rates(side, result, time);
      this.aims[side].draw(time);
    }
    this.strip.at(time);
    const play = byId("play");
    play.textContent = isRunning ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(isRunning));
    byId("now").textContent = `${time.toFixed(1)} s`;
    const slider = /** @type {HTMLInputElement} */ (byId("time"));
    if (document.activeElement !== slider || isRunning) slider.value = String(time);
    if (!isRunning) {
      for (const { side } of this.#shown()) byId(`house-${side}`).setAttribute("aria-label", this.houses[side].words(time));
    }
  }

  /**
   * What each application sends and receives in the second that is shown.
   * @param {Side} side
   * @param {Result} result
   * @param {number} time
   */
  #rates(side, { description, rates, until_s }, time) {
    const second = Math.floor(time);
    const place = byId(`rates-${side}`);
    const key = `${second} ${until_s} ${description.hash}`;
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    place.replaceChildren(
      ...description.flows.map(({ name }, flow) => {
        const swatch = el("span", { class: "swatch", style: `background: var(--${this.#colours[flow]})` });
        const [up, down] = [rates[flow].up[second] ?? 0, rates[flow].down[second] ?? 0];
        return el("li", {}, swatch, `${name} ↑ ${rate(up)} ↓ ${rate(down)}`);
      }),
    );
  }

  #report() {
    const sides = this.#shown();
    if (!sides.length || !sides.every(({ result }) => result.summary)) return;
    const pictures = [
      { title: byId("strip-title").textContent ?? "", canvas: /** @type {HTMLCanvasElement} */ (document.querySelector("#strip-plot canvas")) },
      ...sides.map(({ side, label }) => ({ title: `${label}, after ${this.clock.time.toFixed(1)} s`, canvas: this.houses[side].canvas })),
    ];
    const text = report(sides, /** @type {HTMLElement} */ (byId("figures").firstElementChild), pictures);
    window.open(URL.createObjectURL(new Blob([text], { type: "text/html" })), "_blank");
  }
}

/** @param {Uint8Array} bytes */
function isModel(bytes) {
  return !/^\s*(plan|with|\[link|\[\[flow|link\.)/m.test(new TextDecoder().decode(bytes));
}

/** @param {boolean} isHit */
function beep(isHit) {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  tone.frequency.value = isHit ? 880 : 220;
  volume.gain.value = 0.08;
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.08);
  tone.onended = () => context.close();
}

try {
  const module = await unpacked();
  const make = workers();
  const simulators = { a: new Simulator(make, module), b: new Simulator(make, module) };
  const shipped = JSON.parse(byId("scenarios").textContent ?? "{}");
  for (const [name, text] of Object.entries(shipped.files)) {
    for (const side of BOTH) simulators[side].give(name, new TextEncoder().encode(/** @type {string} */ (text)));
  }
  const page = new Page(simulators, await simulators.a.catalogue(), shipped.scenarios);
  Object.assign(window, { playground: page });
  await page.set(await fromAddress(location.hash));
} catch (error) {
  const place = byId("error");
  place.hidden = false;
  place.textContent = `The simulator cannot start in this browser: ${error instanceof Error ? error.message : error}. It needs WebAssembly, as browsers from 2022 on have it.`;
}
