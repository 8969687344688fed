// The time of the run that is shown: it stands, or it runs 1 to 100 times as fast as the real one.

export const SPEEDS = [1, 2, 5, 10, 30, 100];

export class Clock {
  /** Seconds of the run. It begins where an upload that starts after 10 s has filled the queue. */
  time = 20;
  speed = 1;
  isRunning = false;
  end = 60;
  #before = 0;
  #request = 0;
  /** @type {number[]} Times between frames, in ms, for measurements. */
  frames = [];

  /** @param {(clock: Clock) => void} draw called for each frame while it runs, and after each change */
  constructor(draw) {
    this.draw = draw;
  }

  start() {
    if (this.isRunning) return;
    if (this.time >= this.end) this.time = 0;
    this.isRunning = true;
    this.#before = performance.now();
    this.frames = [];
    this.#request = requestAnimationFrame(this.#frame);
    this.draw(this);
  }

  stop() {
    cancelAnimationFrame(this.#request);
    this.isRunning = false;
    this.draw(this);
  }

  /** @param {number} time */
  go(time) {
    this.time = Math.max(0, Math.min(time, this.end));
    this.draw(this);
  }

  #frame = (/** @type {number} */ now) => {
    if (!this.isRunning) return;
    const passed = Math.max(0, now - this.#before);
    this.#before = now;
    this.frames.push(passed);
    if (this.frames.length > 600) this.frames.shift();
    // A page in the background gets no frames; when it comes back, the run goes on where it stood.
    this.time = Math.min(this.end, this.time + (Math.min(passed, 250) / 1e3) * this.speed);
    if (this.time >= this.end) this.isRunning = false;
    this.draw(this);
    if (this.isRunning) this.#request = requestAnimationFrame(this.#frame);
  };
}
