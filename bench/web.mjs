// How fast the playground's module simulates, and how soon the page shows a change: node bench/web.mjs, after `make web`.
// Medians of nine, in ms. `page` is from the change to the picture, with one gateway, in Chromium.

import { readFileSync } from "node:fs";
import { Engine } from "../web/src/engine.js";
import { change, ROOT, start, stop, withPage } from "../web/tests/browser.mjs";

const MODULE = `${ROOT}/target/wasm32-unknown-unknown/web/gamelane_web.wasm`;
const SCENARIOS = ["household", "collom2016", "queues", "wifi", "adaptive-video"];
const HOUSEHOLDS = ["family", "flat", "streamer"];

const median = (numbers) => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

const engine = await Engine.of(await WebAssembly.compile(readFileSync(MODULE)));
await start();
console.log("scenario             module page, first page, whole");
for (const name of [...SCENARIOS, ...HOUSEHOLDS]) {
  const shipped = SCENARIOS.includes(name);
  const scenario = {
    text: shipped ? readFileSync(`${ROOT}/scenarios/${name}.toml`, "utf8") : "",
    file: `${name}.toml`,
    overrides: shipped ? [] : [["household", name]],
  };
  const module = Array.from({ length: 9 }, (_, seed) => {
    const began = performance.now();
    engine.start({ ...scenario, overrides: [...scenario.overrides, ["seed", String(seed)]] });
    engine.advance(2 ** 31);
    return performance.now() - began;
  });
  const [seen, done] = [[], []];
  await withPage(`#${name}`, {}, async (page) => {
    for (let seed = 1; seed <= 9; seed++) {
      const timing = await change(page, { seed });
      seen.push(timing.seen);
      done.push(timing.done);
    }
  });
  console.log(name.padEnd(15), ...[module, seen, done].map((times) => median(times).toFixed(1).padStart(11)));
}
await stop();
