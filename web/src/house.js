// Draws one side at a moment: hosts, the gateway, packets in its queues coloured by flow, the line, the internet.

import { firstAfter, Lane } from "./queue.js";
import { WAYS } from "./columns.js";

/** @import { Palette } from "./colours" */
/** @import { Result, Way } from "./types" */

/** How long a dropped packet is seen to fall, in seconds of the screen. */
const FALL_S = 0.5;
/** Height of the drawing. */
const HEIGHT = 190;
/** Packets in a column of a queue. */
const ROWS = 8;

export class House {
  /** @type {Result | null} */
  #result = null;
  /** @type {Record<Way, Lane> | null} */
  #lanes = null;
  /** @type {string[]} */
  #colours = [];
  /** @type {number | null} */
  #game = null;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Palette} palette
   */
  constructor(canvas, palette) {
    this.canvas = canvas;
    this.palette = palette;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  }

  /**
   * @param {Result} result
   * @param {string[]} colours names, by flow
   * @param {number | null} game the flow that is drawn larger
   */
  show(result, colours, game) {
    this.#result = result;
    this.#lanes = { up: new Lane(result.packets.up), down: new Lane(result.packets.down) };
    this.#colours = colours;
    this.#game = game;
  }

  clear() {
    this.#result = null;
    this.#lanes = null;
    this.#colours = [];
  }

  /**
   * @param {number} time seconds of the run
   * @param {number} speed seconds of the run in a second
   */
  draw(time, speed) {
    const { canvas, pen } = this;
    const width = canvas.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    const [columns, rows] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    if (canvas.width !== columns || canvas.height !== rows) {
      canvas.width = columns;
      canvas.height = rows;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    const isNarrow = width < 520;
    const place = {
      home: isNarrow ? 34 : 84,
      router: width * (isNarrow ? 0.5 : 0.46),
      provider: width * (isNarrow ? 0.7 : 0.62),
      internet: width - (isNarrow ? 34 : 56),
    };
    this.#scene(place);
    this.#household(place.home);
    if (!this.#result || !this.#lanes) return;
    const { up, down } = this.#lanes;
    this.#moving(up.leaving(time), place.router + 16, place.internet, 62);
    this.#moving(down.coming(time), place.internet, place.provider + 16, 130);
    this.#moving(down.leaving(time), place.provider - 16, place.home, 130);
    this.#queue(up.waiting(time), place.router - 20, -1, place.router - 20 - place.home - 24, 62);
    this.#queue(down.waiting(time), place.provider + 20, 1, place.internet - place.provider - 48, 130);
    this.#drops(time, speed, { up: place.router - 20, down: place.provider + 20 });
  }

  /** @param {{ home: number, router: number, provider: number, internet: number }} place */
  #scene({ home, router, provider, internet }) {
    const { pen, palette } = this;
    pen.strokeStyle = palette.of("grid");
    pen.lineWidth = 2;
    for (const y of [62, 130]) line(pen, home, y, internet, y);
    pen.strokeStyle = palette.of("muted");
    pen.lineWidth = 6;
    line(pen, router + 14, 96, provider - 14, 96);
    pen.lineWidth = 1.5;
    pen.fillStyle = palette.of("raised");
    // A house: roof and wall.
    pen.beginPath();
    pen.moveTo(home - 30, 62);
    pen.lineTo(home - 6, 30);
    pen.lineTo(home + 18, 62);
    pen.lineTo(home + 18, 150);
    pen.lineTo(home - 30, 150);
    pen.closePath();
    pen.fill();
    pen.stroke();
    for (const x of [router, provider]) box(pen, x - 14, 44, 28, 104);
    pen.beginPath();
    pen.arc(internet - 10, 98, 16, Math.PI * 0.5, Math.PI * 1.4);
    pen.arc(internet + 1, 82, 17, Math.PI * 1.1, Math.PI * 1.9);
    pen.arc(internet + 14, 100, 14, Math.PI * 1.6, Math.PI * 0.5);
    pen.closePath();
    pen.fill();
    pen.stroke();
    pen.fillStyle = palette.of("soft");
    pen.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    pen.textAlign = "center";
    for (const [word, x] of /** @type {[string, number][]} */ ([["home", home - 6], ["router, modem", router], ["provider", provider], ["internet", internet + 2]])) {
      pen.fillText(word, x, 176);
    }
  }

  /**
   * Who is at home: a window for each application.
   * @param {number} home
   */
  #household(home) {
    const { pen, palette } = this;
    this.#colours.slice(0, 15).forEach((colour, flow) => {
      pen.fillStyle = palette.of(colour);
      pen.fillRect(home - 24 + (flow % 3) * 14, 68 + Math.floor(flow / 3) * 14, 9, 9);
    });
  }

  /**
   * Packets that wait, from the head of the queue away from the line.
   * @param {{ flow: number }[]} waiting
   * @param {number} x of the head
   * @param {number} step direction in which the queue grows
   * @param {number} length of the space for it
   * @param {number} y
   */
  #queue(waiting, x, step, length, y) {
    const { pen, palette } = this;
    const columns = Math.ceil(waiting.length / ROWS);
    const cell = Math.max(1.5, Math.min(7, length / Math.max(1, columns)));
    waiting.forEach(({ flow }, place) => {
      const column = Math.floor(place / ROWS);
      const isGame = flow === this.#game;
      const size = isGame ? cell : cell - 1;
      pen.fillStyle = palette.of(this.#colours[flow] ?? "muted");
      const left = step > 0 ? x + column * cell : x - (column + 1) * cell;
      pen.fillRect(left, y - 30 + (place % ROWS) * 7, Math.max(1, size), isGame ? 7 : 5);
    });
    if (waiting.length) {
      pen.fillStyle = palette.of("soft");
      pen.textAlign = step > 0 ? "left" : "right";
      pen.fillText(`${waiting.length} waiting`, x, y - 38);
    }
  }

  /**
   * @param {{ flow: number, done: number }[]} moving
   * @param {number} from
   * @param {number} to
   * @param {number} y
   */
  #moving(moving, from, to, y) {
    const { pen, palette } = this;
    for (const { flow, done } of moving) {
      const isGame = flow === this.#game;
      pen.fillStyle = palette.of(this.#colours[flow] ?? "muted");
      const size = isGame ? 7 : 4;
      pen.fillRect(from + (to - from) * done - size / 2, y - size / 2, size, size);
    }
  }

  /**
   * @param {number} time
   * @param {number} speed
   * @param {Record<Way, number>} places
   */
  #drops(time, speed, places) {
    const { at, way, flow } = /** @type {Result} */ (this.#result).drops;
    const { pen, palette } = this;
    const begin = time - FALL_S * speed;
    for (let row = firstAfter(at, begin); row < at.length && at[row] <= time; row++) {
      const done = (time - at[row]) / (FALL_S * speed);
      const name = WAYS[way[row]];
      pen.globalAlpha = 1 - done;
      pen.fillStyle = palette.of(this.#colours[flow[row]] ?? "muted");
      pen.strokeStyle = palette.of("orange");
      const y = (name === "up" ? 86 : 154) + 26 * done * done;
      pen.fillRect(places[name] - 3, y, 6, 6);
      pen.strokeRect(places[name] - 3.5, y - 0.5, 7, 7);
      pen.globalAlpha = 1;
    }
  }

  /**
   * What is seen, in words.
   * @param {number} time
   */
  words(time) {
    if (!this.#lanes) return "No packets: nothing is simulated.";
    const [up, down] = WAYS.map((way) => /** @type {Record<Way, Lane>} */ (this.#lanes)[way].waiting(time).length);
    return `After ${time.toFixed(1)} s, ${count(up)} to the internet and ${count(down)} to the home wait in the queues.`;
  }
}

/** @param {number} packets */
function count(packets) {
  return packets === 1 ? "1 packet" : `${packets} packets`;
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} toX
 * @param {number} toY
 */
function line(pen, x, y, toX, toY) {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function box(pen, x, y, width, height) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, 5);
  pen.fill();
  pen.stroke();
}
