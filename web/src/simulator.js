// Talks to one worker: runs, of which only the newest counts, and questions with one answer. A worker that breaks is replaced.

/** @import { Analysis, Description, Everything, Heard, Recipe, Result, Written } from "./types" */

/** @typedef {{ value?: Result, until_s?: number, failure?: string }} News of a run: a result, how far it is, or why there is none. */

export class Simulator {
  /** @type {Map<number, (answer: Heard) => void>} */
  #waiting = new Map();
  /** @type {Map<string, Uint8Array>} */
  #files = new Map();
  #id = 0;
  /** @type {{ id: number, scenario: Written, hear: (news: News) => void } | null} The newest run. */
  #run = null;
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
    for (const [name, bytes] of this.#files) worker.postMessage({ kind: "give", id: 0, name, bytes });
    return worker;
  }

  /** @param {Heard} data */
  #hear(data) {
    if (data.id === this.#run?.id) {
      this.#run.hear(data);
      if (data.failure) this.#run = null;
    }
    this.#waiting.get(data.id)?.(data);
    this.#waiting.delete(data.id);
    if (data.isBroken) this.#replace();
  }

  #replace() {
    this.#worker.terminate();
    for (const [id, answer] of this.#waiting) answer({ id, failure: "it was stopped" });
    this.#waiting.clear();
    this.#worker = this.#open();
    if (this.#run) this.#worker.postMessage({ kind: "run", id: this.#run.id, scenario: this.#run.scenario });
  }

  /**
   * Starts a run. `hear` gets its beginning, if it takes long, and then all of it; nothing after a newer run was started.
   * @param {Written} scenario
   * @param {(news: News) => void} hear
   */
  run(scenario, hear) {
    this.#run = { id: ++this.#id, scenario, hear };
    this.#worker.postMessage({ kind: "run", id: this.#id, scenario });
  }

  /** Ends the run that goes on. */
  stop() {
    this.#run = null;
    this.#replace();
  }

  /**
   * @param {string} name
   * @param {Uint8Array} bytes
   * @returns {Promise<void>}
   */
  give(name, bytes) {
    this.#files.set(name, bytes);
    return this.#ask({ kind: "give", name, bytes }).catch((error) => {
      this.#files.delete(name);
      throw error;
    });
  }

  /** @returns {Promise<Everything>} */
  catalogue() {
    return this.#ask({ kind: "catalogue" });
  }

  /**
   * @param {Written} scenario
   * @returns {Promise<Description>}
   */
  describe(scenario) {
    return this.#ask({ kind: "describe", scenario });
  }

  /**
   * @param {Written} scenario
   * @param {Written} today the gateway to be changed
   * @returns {Promise<Recipe[]>}
   */
  recipes(scenario, today) {
    return this.#ask({ kind: "recipes", scenario, today });
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
      this.#waiting.set(id, ({ value, failure }) => (failure === undefined ? done(value) : refuse(new Error(failure))));
      this.#worker.postMessage({ ...question, id });
    });
  }
}
