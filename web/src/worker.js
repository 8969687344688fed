// One side of the page: simulates, and sends what drawings need. A newer request ends the one before it.

import { Engine, Refused } from "./engine.js";
import { drops, packets, rates, trips } from "./columns.js";

/** @import { Description, Result, Written } from "./types" */

/** Simulated time between looks at the clock and at newer requests. */
const SLICE_MS = 500;
/** Time after which the beginning of a longer run is shown. */
const SOON_MS = 25;

/** @type {Promise<Engine>} */
let ready;
let newest = 0;

/**
 * @typedef {{ kind: "module", module: WebAssembly.Module }} Setup
 * @typedef {{ kind: "run", id: number, scenario: Written, seed: number | null }} Run
 * @typedef {{ kind: "give", name: string, bytes: Uint8Array }} Give
 * @typedef {{ kind: "analyze", id: number, name: string, width: number }} Analyze
 * @typedef {{ kind: "catalogue", id: number }} Catalogue
 * @param {MessageEvent<Setup | Run | Give | Analyze | Catalogue>} event
 */
onmessage = async ({ data }) => {
  if (data.kind === "module") {
    ready = Engine.of(data.module);
    return;
  }
  if (data.kind === "run") newest = data.id;
  const engine = await ready;
  if (data.kind === "give") {
    engine.give(data.name, data.bytes);
    return;
  }
  try {
    if (data.kind === "run") await run(engine, data);
    else if (data.kind === "analyze") postMessage({ id: data.id, value: engine.analyze(data.name, data.width) });
    else postMessage({ id: data.id, value: engine.catalogue() });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const failure = error instanceof Refused ? error.failure : { text, message: text, key: null, line: null, allowed: null, hint: null };
    postMessage({ id: data.id, failure, isBroken: !(error instanceof Refused) });
  }
};

/**
 * @param {Engine} engine
 * @param {Run} request
 */
async function run(engine, { id, scenario, seed }) {
  if (id !== newest) return;
  const description = engine.start(scenario, seed);
  const began = performance.now();
  let isShown = false;
  let pause = began;
  for (let until = SLICE_MS; engine.advance(until); until += SLICE_MS) {
    const now = performance.now();
    if (!isShown && now - began > SOON_MS) {
      isShown = true;
      send(id, result(engine, description, until / 1e3, ""));
    }
    if (now - pause > SOON_MS) {
      await next();
      if (id !== newest) return;
      pause = performance.now();
    }
  }
  send(id, result(engine, description, description.duration_s, engine.summary()));
}

/** Lets messages in. */
function next() {
  return new Promise((/** @type {(value?: unknown) => void} */ go) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      go();
    };
    port2.postMessage(null);
  });
}

/**
 * @param {Engine} engine
 * @param {Description} description
 * @param {number} until_s
 * @param {string} json
 * @returns {Result}
 */
function result(engine, description, until_s, json) {
  return {
    description,
    until_s,
    json,
    summary: json ? JSON.parse(json) : null,
    packets: packets(engine, description),
    drops: drops(engine),
    trips: trips(engine, description),
    rates: rates(engine, description),
  };
}

/**
 * @param {number} id
 * @param {Result} value
 */
function send(id, value) {
  const columns = [
    ...Object.values(value.packets).flatMap((each) => Object.values(each)),
    ...Object.values(value.drops),
    ...value.trips.flatMap((each) => Object.values(each)),
    ...value.rates.flatMap((each) => Object.values(each)),
  ];
  postMessage({ id, value }, { transfer: columns.map((column) => column.buffer) });
}
