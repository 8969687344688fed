// One side of the page: simulates, and sends what drawings need. A newer run ends the one before it.

import { Engine, Refused } from "./engine.js";
import { drops, packets, rates, trips } from "./columns.js";

/** @import { Description, Question, Result, Written } from "./types" */

/** Simulated time between looks at the clock and at newer requests. */
const SLICE_MS = 500;
/** Time after which the beginning of a longer run is shown. */
const SOON_MS = 25;
/** Time between words about how far a run is. */
const PROGRESS_MS = 250;

/** @type {Promise<Engine>} */
let ready;
let newest = 0;

onmessage = async (/** @type {MessageEvent<Question>} */ { data }) => {
  if (data.kind === "module") {
    ready = Engine.of(data.module);
    return;
  }
  const { id } = data;
  if (data.kind === "run") newest = id;
  try {
    const engine = await ready;
    if (data.kind === "run") await run(engine, id, data.scenario);
    else if (data.kind === "give") postMessage({ id, value: engine.give(data.name, data.bytes) });
    else if (data.kind === "describe") postMessage({ id, value: engine.describe(data.scenario) });
    else if (data.kind === "recipes") postMessage({ id, value: engine.recipes(data.scenario, data.today) });
    else if (data.kind === "analyze") postMessage({ id, value: engine.analyze(data.name, data.width) });
    else postMessage({ id, value: engine.catalogue() });
  } catch (error) {
    if (error instanceof Refused) postMessage({ id, failure: error.message });
    else postMessage({ id, failure: `The simulator failed, perhaps for want of memory (${error}). It was started again.`, isBroken: true });
  }
};

/**
 * @param {Engine} engine
 * @param {number} id
 * @param {Written} scenario
 */
async function run(engine, id, scenario) {
  if (id !== newest) return;
  const description = engine.start(scenario);
  const began = performance.now();
  let isShown = false;
  let [pause, said] = [began, began];
  for (let until = SLICE_MS; engine.advance(until); until += SLICE_MS) {
    const now = performance.now();
    if (!isShown && now - began > SOON_MS) {
      isShown = true;
      send(id, result(engine, description, until / 1e3, ""));
    }
    if (now - said > PROGRESS_MS) {
      said = now;
      postMessage({ id, until_s: until / 1e3 });
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
