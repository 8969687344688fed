// The WebAssembly module behind functions: JSON in and out, columns as typed arrays.

/** @import { Analysis, Description, Everything, Recipe, Written } from "./types" */

/** A request that was refused. The message is for a person. */
export class Refused extends Error {}

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };

export class Engine {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    /** @type {any} */
    this.exports = instance.exports;
  }

  /** @param {WebAssembly.Module} module */
  static async of(module) {
    return new Engine(await WebAssembly.instantiate(module, {}));
  }

  /** @returns {Everything} */
  catalogue() {
    return JSON.parse(this.#ask({ call: "catalogue" }));
  }

  /**
   * Gives a file to scenarios that name it, and to `analyze`.
   * @param {string} name
   * @param {Uint8Array} bytes
   */
  give(name, bytes) {
    this.#put(bytes);
    this.exports.keep();
    this.#ask({ call: "give", name });
  }

  /**
   * Checks a scenario.
   * @param {Written} scenario
   * @returns {Description}
   */
  describe(scenario) {
    return JSON.parse(this.#ask({ call: "describe", scenario }));
  }

  /**
   * Starts a run.
   * @param {Written} scenario
   * @returns {Description}
   */
  start(scenario) {
    return JSON.parse(this.#ask({ call: "start", scenario }));
  }

  /**
   * Simulates until a time. Returns whether there is more.
   * @param {number} until_ms
   */
  advance(until_ms) {
    return this.exports.advance(until_ms) !== 0;
  }

  /** The summary of the ended run, as JSON. */
  summary() {
    return this.#ask({ call: "summary" });
  }

  /**
   * A table of the run so far: its columns by name, which are valid until the next call, and the words of those that have some.
   * @param {string} table
   * @returns {{ columns: Record<string, any>, words: Record<string, string[]> }}
   */
  table(table) {
    /** @type {{ name: string, kind: keyof typeof KINDS, at: number, length: number, words?: string[] }[]} */
    const places = JSON.parse(this.#ask({ call: "table", table }));
    const buffer = this.exports.memory.buffer;
    return {
      columns: Object.fromEntries(places.map(({ name, kind, at, length }) => [name, new KINDS[kind](buffer, at, length)])),
      words: Object.fromEntries(places.flatMap(({ name, words }) => (words ? [[name, words]] : []))),
    };
  }

  /**
   * Lines to paste for the gateway of a scenario.
   * @param {Written} scenario
   * @param {Written | null} today the gateway to be changed, if it is known
   * @returns {Recipe[]}
   */
  recipes(scenario, today) {
    return JSON.parse(this.#ask({ call: "recipes", scenario, today }));
  }

  /**
   * Analyses a file that was given.
   * @param {string} name
   * @param {number} width columns of the text
   * @returns {Analysis}
   */
  analyze(name, width) {
    return JSON.parse(this.#ask({ call: "analyze", name, width }));
  }

  /**
   * @param {object} request
   * @returns {string} the reply as JSON
   */
  #ask(request) {
    this.#put(new TextEncoder().encode(JSON.stringify(request)));
    const isError = this.exports.call() !== 0;
    const { memory, output, output_len } = this.exports;
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, output(), output_len()));
    if (isError) throw new Refused(text);
    return text;
  }

  /** @param {Uint8Array} bytes */
  #put(bytes) {
    const at = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }
}
