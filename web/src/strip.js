// The game's delay over the run: a line for each side, a playhead, and how much delay its players accept.

import uPlot from "uplot";

/** @import { Palette } from "./colours" */
/** @import { Side, Trips } from "./types" */

/** @typedef {{ good_ms: number, playable_ms: number, bad_ms: number }} Limits */

const HEIGHT = 220;
/** Colours of the sides; both have 3:1 with the page in both themes. */
export const SIDES = { a: "orange", b: "blue" };

export class Strip {
  /** @type {uPlot | null} */
  #plot = null;
  /** @type {Limits | null} */
  #limits = null;
  /** @type {HTMLElement} The playhead. */
  #head = document.createElement("div");
  #time = 0;
  #shape = "";

  /**
   * @param {HTMLElement} place
   * @param {Palette} palette
   * @param {(time: number) => void} go
   */
  constructor(place, palette, go) {
    this.place = place;
    this.palette = palette;
    this.go = go;
    new ResizeObserver(() => this.#plot?.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  }

  /**
   * @param {{ side: Side, label: string, trips: Trips }[]} lines
   * @param {number} end
   * @param {Limits | null} limits
   */
  show(lines, end, limits) {
    this.#limits = limits;
    const data = /** @type {any} */ (
      lines.length === 1
        ? [lines[0].trips.at, lines[0].trips.ms]
        : uPlot.join(/** @type {any} */ (lines.map(({ trips }) => [trips.at, trips.ms])))
    );
    const shape = JSON.stringify([lines.map(({ side, label }) => [side, label]), end]);
    if (this.#plot && shape === this.#shape) {
      this.#plot.setData(data);
      return;
    }
    this.#plot?.destroy();
    this.#shape = shape;
    this.#plot = new uPlot(this.#options(lines, end), data, this.place);
  }

  clear() {
    this.#plot?.destroy();
    this.#plot = null;
    this.#shape = "";
  }

  redraw() {
    this.#plot?.redraw();
  }

  /** @param {number} time */
  at(time) {
    this.#time = time;
    if (this.#plot) this.#head.style.transform = `translateX(${this.#plot.valToPos(time, "x")}px)`;
  }

  /**
   * @param {{ side: Side, label: string }[]} lines
   * @param {number} end
   * @returns {uPlot.Options}
   */
  #options(lines, end) {
    const colour = (/** @type {string} */ name) => () => this.palette.of(name);
    const axis = { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 } };
    return {
      width: this.place.clientWidth || 600,
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: [0, end] }, y: { range: (_, __, most) => [0, Math.max(60, (most || 0) * 1.08)] } },
      axes: [{ ...axis, label: "seconds", labelSize: 18, size: 34 }, { ...axis, label: "round trip, ms", labelSize: 18, size: 54 }],
      series: [
        {},
        ...lines.map(({ side, label }) => ({ label, stroke: colour(SIDES[side]), width: 1.5, spanGaps: true, points: { show: false } })),
      ],
      hooks: {
        drawClear: [(plot) => this.#bands(plot)],
        ready: [(plot) => this.#listen(plot)],
        setSize: [() => this.at(this.#time)],
      },
    };
  }

  /** @param {uPlot} plot */
  #bands(plot) {
    if (!this.#limits) return;
    const { left, top, width, height } = plot.bbox;
    const { good_ms, playable_ms, bad_ms } = this.#limits;
    const pen = plot.ctx;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    for (const [limit, name] of /** @type {[number, string][]} */ ([[good_ms, "green"], [playable_ms, "ochre"], [bad_ms, "rust"]])) {
      const y = plot.valToPos(limit, "y", true);
      if (y < top) continue;
      pen.strokeStyle = this.palette.of(name);
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(left, y);
      pen.lineTo(left + width, y);
      pen.stroke();
    }
    pen.restore();
  }

  /** @param {uPlot} plot */
  #listen(plot) {
    this.#head.className = "head";
    plot.over.append(this.#head);
    plot.over.addEventListener("pointerdown", ({ offsetX }) => this.go(plot.posToVal(offsetX, "x")));
    plot.over.addEventListener("pointermove", ({ buttons, offsetX }) => {
      if (buttons) this.go(plot.posToVal(offsetX, "x"));
    });
    this.at(this.#time);
  }
}
