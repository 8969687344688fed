// Talks to one worker: runs, of which only the newest counts, and questions with one answer. A worker that breaks is replaced.

/** @import { Analysis, Everything, Failure, Result, Written } from "./types" */

export class Simulator {
  /** @type {Map<number, (answer: any) => void>} */
  #waiting = new Map();
  /** @type {Map<string, Uint8Array>} */
  #files = new Map();
  #id = 0;
  /** Id of the newest run, and whom its results concern. */
  #run = { id: 0, show: (/** @type {{ value?: Result, failure?: Failure }} */ _) => {} };
  /** @type {Worker} */
  #worker;

  /**
   * @param {() => Worker} make
   * @param {WebAssembly.Module} module
   */
  constructor(make, module) {
    this.make = make;
    this.module = module;
    this.#worker = this.#open();
  }

  #open() {
    const worker = this.make();
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.postMessage({ kind: "module", module: this.module });
    for (const [name, bytes] of this.#files) worker.postMessage({ kind: "give", name, bytes });
    return worker;
  }

  /** @param {{ id: number, value?: any, failure?: Failure, isBroken?: boolean }} data */
  #hear(data) {
    if (data.isBroken) {
      this.#worker.terminate();
      this.#worker = this.#open();
    }
    if (data.id === this.#run.id) this.#run.show(data);
    this.#waiting.get(data.id)?.(data);
    this.#waiting.delete(data.id);
  }

  /**
   * Starts a run. `show` gets its beginning, if it takes long, and then all of it; nothing after a newer run was started.
   * @param {Written} scenario
   * @param {number | null} seed
   * @param {(answer: { value?: Result, failure?: Failure }) => void} show
   */
  run(scenario, seed, show) {
    this.#run = { id: ++this.#id, show };
    this.#worker.postMessage({ kind: "run", id: this.#id, scenario, seed });
  }

  /** Ends the run that goes on. */
  stop() {
    this.#worker.terminate();
    this.#worker = this.#open();
  }

  /**
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  give(name, bytes) {
    this.#files.set(name, bytes);
    this.#worker.postMessage({ kind: "give", name, bytes });
  }

  /** @returns {Promise<Everything>} */
  catalogue() {
    return this.#ask({ kind: "catalogue" });
  }

  /**
   * @param {string} name
   * @param {number} width
   * @returns {Promise<Analysis>}
   */
  analyze(name, width) {
    return this.#ask({ kind: "analyze", name, width });
  }

  /** @param {object} question */
  #ask(question) {
    const id = ++this.#id;
    return new Promise((/** @type {(value: any) => void} */ done, refuse) => {
      this.#waiting.set(id, ({ value, failure }) => (failure ? refuse(new Error(failure.text)) : done(value)));
      this.#worker.postMessage({ ...question, id });
    });
  }
}
