// The module without a browser, for tests in Python: node engine.mjs MODULE.wasm reads one request as JSON from standard input and prints
// the answers as JSON. { runs: [{ scenario, files, seed }], captures: [{ name, path }] }

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { Engine } from "../src/engine.js";
import { LOSS, STALLED, USUAL_MS } from "../src/fares.js";
import { commands } from "../src/share.js";

const engine = await Engine.of(await WebAssembly.compile(readFileSync(process.argv[2])));
const { runs = [], captures = [] } = JSON.parse(readFileSync(0, "utf8"));
const give = (path) => engine.give(basename(path), readFileSync(path));

const summaries = runs.map(({ scenario, files }) => {
  files.forEach(give);
  engine.start(scenario);
  // In steps of an odd length, as a page that is watched.
  for (let until = 777; engine.advance(until); until += 777);
  return engine.summary();
});
const recipes = runs.map(({ scenario, files }) => {
  files.forEach(give);
  return engine.recipes(scenario, null);
});
const documents = captures.map((path) => {
  give(path);
  return engine.analyze(basename(path), 80);
});
console.log(JSON.stringify({ summaries, recipes, documents, limits: { LOSS, STALLED, USUAL_MS }, commands: commands("home") }));
