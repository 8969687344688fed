// The time that is shown: buttons, and everything that moves with it.

import { Aim } from "./aim.js";
import { Clock, SPEEDS } from "./clock.js";
import { byId, el } from "./elements.js";
import { House } from "./house.js";
import { rate } from "./numbers.js";
import { beep } from "./sound.js";
import { BOTH } from "./state.js";
import { SIDES, Strip } from "./strip.js";

/** @import { Palette } from "./colours" */
/** @import { Page } from "./page" */
/** @import { Result, Side } from "./types" */

export class Playback {
  /** @type {Record<Side, string[]>} Colours by flow. */
  #colours = { a: [], b: [] };

  /**
   * @param {Page} page
   * @param {Palette} palette
   */
  constructor(page, palette) {
    this.page = page;
    this.clock = new Clock(() => this.draw());
    this.strip = new Strip(byId("strip-plot"), palette, (time) => this.clock.go(time));
    const house = (/** @type {Side} */ side) => new House(/** @type {HTMLCanvasElement} */ (byId(`house-${side}`)), palette);
    this.houses = { a: house("a"), b: house("b") };
    this.aims = { a: this.#aim("a", palette), b: this.#aim("b", palette) };
    this.#buttons();
    new ResizeObserver(() => this.draw()).observe(byId("shown"));
  }

  /**
   * @param {Side} side
   * @param {Palette} palette
   */
  #aim(side, palette) {
    const score = byId(`score-${side}`);
    const canvas = /** @type {HTMLCanvasElement} */ (byId(`aim-${side}`));
    const hint = "Press Play, then point and click; with the keyboard, arrow keys and space.";
    return new Aim(canvas, palette, SIDES[side], {
      scored: ({ hits, shots }) => (score.textContent = shots ? `${hits} of ${shots} hit` : hint),
      heard: (isHit) => /** @type {HTMLInputElement} */ (byId("sound")).checked && beep(isHit),
    });
  }

  #buttons() {
    const { clock } = this;
    for (const button of document.querySelectorAll(".play")) button.addEventListener("click", () => (clock.isRunning ? clock.stop() : clock.start()));
    const speed = /** @type {HTMLSelectElement} */ (byId("speed"));
    speed.append(...SPEEDS.map((each) => el("option", { value: each, selected: each === 1 }, `${each}×`)));
    speed.addEventListener("change", () => (clock.speed = Number(speed.value)));
    const time = /** @type {HTMLInputElement} */ (byId("time"));
    time.addEventListener("input", () => clock.go(Number(time.value)));
  }

  /**
   * Plays from a time at the speed of real time.
   * @param {number} time
   */
  from(time) {
    this.clock.speed = 1;
    /** @type {HTMLSelectElement} */ (byId("speed")).value = "1";
    this.clock.go(time);
    this.clock.start();
  }

  /**
   * @param {Side} side
   * @param {Result} result
   * @param {string[]} colours names, by flow
   */
  show(side, result, colours) {
    const { description } = result;
    this.#colours[side] = colours;
    this.clock.end = description.duration_s;
    this.clock.time = Math.min(this.clock.time, description.duration_s);
    /** @type {HTMLInputElement} */ (byId("time")).max = String(description.duration_s);
    const { flow, isGame } = this.page.shown.subject(result);
    this.houses[side].show(result, colours, isGame ? flow : null);
    if (flow !== null) {
      const isServer = description.keys.flow.some((/** @type {any} */ one) => one.name === description.flows[flow].name && one.role === "host");
      this.aims[side].show(result, flow, isServer);
    }
    this.draw();
  }

  /** Empties the drawings. */
  clear() {
    for (const house of Object.values(this.houses)) house.clear();
    for (const side of BOTH) byId(`rates-${side}`).replaceChildren();
    this.strip.clear();
    this.draw();
  }

  draw() {
    const { time, speed, isRunning } = this.clock;
    for (const side of this.page.sides) {
      const result = this.page.results[side];
      // A run that has just begun has nothing later to show.
      const shown = Math.min(time, result?.until_s ?? time);
      this.houses[side].draw(shown, isRunning ? speed : 1);
      this.aims[side].draw(shown, isRunning);
      if (result) this.#rates(side, result, shown);
      if (!isRunning) byId(`house-${side}`).setAttribute("aria-label", this.houses[side].words(shown));
    }
    this.strip.at(time);
    for (const button of document.querySelectorAll(".play")) button.textContent = isRunning ? "Pause" : "Play";
    byId("now").textContent = `${time.toFixed(1)} s`;
    const slider = /** @type {HTMLInputElement} */ (byId("time"));
    if (document.activeElement !== slider || isRunning) slider.value = String(time);
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
    const key = `${second} ${until_s} ${description.hash} ${description.seed}`;
    if (place.dataset.key === key && place.childElementCount) return;
    place.dataset.key = key;
    place.replaceChildren(
      ...description.flows.map(({ name }, flow) => {
        const swatch = el("span", { class: "swatch", style: `background: var(--${this.#colours[side][flow]})` });
        const [up, down] = [rates[flow].up[second] ?? 0, rates[flow].down[second] ?? 0];
        return el("li", {}, swatch, `${name} ↑ ${rate(up)} ↓ ${rate(down)}`);
      }),
    );
  }
}
