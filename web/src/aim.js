// What a player would feel: a target that moves as the server says, seen when the game's packets arrive, and shots that count where the
// target is when they reach the server. Delays and losses are those of the simulated game at the time that is shown.

import { firstAfter } from "./queue.js";

/** @import { Palette } from "./colours" */
/** @import { Packets, Result } from "./types" */

const RADIUS = 16;
/** How long the answer to a shot is seen, in seconds. */
const SHOWN_S = 0.7;
const STEP = 12;

export class Aim {
  /** @type {{ up: Way, down: Way } | null} */
  #game = null;
  /** Where the shooter points, as parts of the width and height. */
  #point = { x: 0.5, y: 0.5 };
  /** @type {{ at: number, x: number, y: number, answer: number, isHit: boolean | null }[]} */
  #shots = [];
  #time = 0;
  #isRunning = false;
  hits = 0;
  shots = 0;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Palette} palette
   * @param {string} colour of the target
   * @param {{ scored: (aim: Aim) => void, heard: (isHit: boolean) => void }} listeners
   */
  constructor(canvas, palette, colour, { scored, heard }) {
    this.canvas = canvas;
    this.palette = palette;
    this.colour = colour;
    this.scored = scored;
    this.heard = heard;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    canvas.addEventListener("pointermove", (event) => this.#aimAt(event));
    canvas.addEventListener("pointerdown", (event) => {
      this.#aimAt(event);
      this.#shoot();
    });
    canvas.addEventListener("keydown", (event) => {
      const moves = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
      const move = moves[event.key];
      if (move) {
        this.#point.x = Math.min(1, Math.max(0, this.#point.x + (move[0] * STEP) / canvas.clientWidth));
        this.#point.y = Math.min(1, Math.max(0, this.#point.y + (move[1] * STEP) / canvas.clientHeight));
      } else if (event.key === " " || event.key === "Enter") {
        this.#shoot();
      } else {
        return;
      }
      event.preventDefault();
      this.draw(this.#time, this.#isRunning);
    });
  }

  /**
   * @param {Result} result
   * @param {number} flow the game
   * @param {boolean} isServer whether its server is at home, so that the player is outside
   */
  show({ packets }, flow, isServer) {
    const [up, down] = [new Way(packets.up, flow), new Way(packets.down, flow)];
    this.#game = isServer ? { up: down, down: up } : { up, down };
    this.reset();
  }

  /** Shoots at what is seen. */
  shootAtTarget() {
    const seen = this.#game?.down.newest(this.#time);
    if (seen === undefined) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { x, y } = place(seen, width, height);
    this.#point = { x: x / width, y: y / height };
    this.#shoot();
  }

  reset() {
    this.#shots = [];
    this.hits = 0;
    this.shots = 0;
    this.scored(this);
  }

  /**
   * @param {number} time
   * @param {boolean} isRunning whether shots count
   */
  draw(time, isRunning) {
    if (time < this.#time) this.#shots = [];
    this.#time = time;
    this.#isRunning = isRunning;
    const { canvas, pen, palette } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const seen = this.#game?.down.newest(time);
    if (seen === undefined) return;
    const target = place(seen, width, height);
    pen.fillStyle = palette.of(this.colour);
    disc(pen, target.x, target.y, RADIUS);
    pen.fillStyle = palette.of("paper");
    disc(pen, target.x, target.y, RADIUS / 2);
    this.#judge(time);
    for (const shot of this.#shots) {
      pen.strokeStyle = palette.of(shot.isHit === null ? "muted" : shot.isHit ? "green" : "rust");
      pen.lineWidth = 3;
      const [x, y] = [shot.x * width, shot.y * height];
      if (shot.isHit === false) cross(pen, x, y, 7);
      else {
        pen.beginPath();
        pen.arc(x, y, shot.isHit ? RADIUS + 5 : 4, 0, 2 * Math.PI);
        pen.stroke();
      }
    }
    pen.strokeStyle = palette.of("ink");
    pen.lineWidth = 1.5;
    cross(pen, this.#point.x * width, this.#point.y * height, 6, true);
  }

  /** @param {PointerEvent} event */
  #aimAt({ offsetX, offsetY }) {
    this.#point = { x: offsetX / this.canvas.clientWidth, y: offsetY / this.canvas.clientHeight };
    this.draw(this.#time, this.#isRunning);
  }

  #shoot() {
    if (!this.#game || !this.#isRunning) return;
    const answer = this.#game.down.arrival(this.#game.up.arrival(this.#time));
    // At the end of the run nothing answers any more.
    if (answer === Infinity) return;
    this.#shots.push({ at: this.#time, ...this.#point, answer, isHit: null });
    this.shots++;
    this.scored(this);
  }

  /**
   * A shot counts where the target is when it reaches the server, and the shooter learns it when the answer arrives.
   * @param {number} time
   */
  #judge(time) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    for (const shot of this.#shots) {
      if (shot.isHit !== null || time < shot.answer) continue;
      const target = place(/** @type {{ up: Way }} */ (this.#game).up.arrival(shot.at), width, height);
      shot.isHit = Math.hypot(target.x - shot.x * width, target.y - shot.y * height) <= RADIUS;
      this.hits += Number(shot.isHit);
      this.heard(shot.isHit);
      this.scored(this);
    }
    this.#shots = this.#shots.filter(({ answer, isHit }) => isHit === null || time < answer + SHOWN_S);
  }
}

/** The packets of the game in one direction. */
class Way {
  /**
   * @param {Packets} packets
   * @param {number} own the flow of the game
   */
  constructor({ flow, sent, arrive }, own) {
    const rows = [...flow.keys()].filter((row) => flow[row] === own);
    this.arrive = Float32Array.from(rows, (row) => arrive[row]);
    /** When the newest packet was sent of those that have arrived. */
    this.newestSent = Float32Array.from(rows, (row) => sent[row]);
    for (let row = 1; row < rows.length; row++) this.newestSent[row] = Math.max(this.newestSent[row - 1], this.newestSent[row]);
    const order = [...rows.keys()].sort((one, other) => sent[rows[one]] - sent[rows[other]]);
    this.sent = Float32Array.from(order, (row) => sent[rows[row]]);
    this.arriveBySent = Float32Array.from(order, (row) => this.arrive[row]);
  }

  /**
   * When the newest packet that has arrived was sent; `undefined` before the first.
   * @param {number} time
   */
  newest(time) {
    const last = firstAfter(this.arrive, time) - 1;
    return last < 0 ? undefined : this.newestSent[last];
  }

  /**
   * When the first packet arrives that is sent from then on.
   * @param {number} time
   */
  arrival(time) {
    return this.arriveBySent[firstAfter(this.sent, time)] ?? Infinity;
  }
}

/**
 * Where the target is on the server.
 * @param {number} time
 * @param {number} width
 * @param {number} height
 */
function place(time, width, height) {
  const [x, y] = [Math.sin(time * 1.7) + 0.4 * Math.sin(time * 3.9 + 1), Math.sin(time * 2.3 + 2) + 0.3 * Math.sin(time * 5.1)];
  return { x: width / 2 + (x / 1.5) * (width / 2 - RADIUS), y: height / 2 + (y / 1.4) * (height / 2 - RADIUS) };
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function disc(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {boolean} [isUpright]
 */
function cross(pen, x, y, size, isUpright = false) {
  pen.beginPath();
  const arms = isUpright ? [[size, 0], [0, size]] : [[size, size], [size, -size]];
  for (const [dx, dy] of arms) {
    pen.moveTo(x - dx, y - dy);
    pen.lineTo(x + dx, y + dy);
  }
  pen.stroke();
}
