// Unpacks the module, starts the workers, and opens the page.

import { byId } from "./elements.js";
import { read } from "./files.js";
import { unpacked, workers } from "./module.js";
import { Page } from "./page.js";
import { Simulator } from "./simulator.js";
import { BOTH, fromAddress } from "./state.js";
import { Tour } from "./tour.js";

try {
  const module = await unpacked();
  const make = workers();
  const simulators = { a: new Simulator(make, module), b: new Simulator(make, module) };
  const shipped = JSON.parse(byId("scenarios").textContent ?? "{}");
  for (const [name, text] of Object.entries(shipped.files)) {
    for (const side of BOTH) await simulators[side].give(name, new TextEncoder().encode(/** @type {string} */ (text)));
  }
  const page = new Page(simulators, await simulators.a.catalogue(), shipped.scenarios, (file) => read(page, file));
  Object.assign(window, { playground: page });
  const tour = new Tour(page);
  byId("start-tour").addEventListener("click", () => tour.open());
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer?.files ?? []) await read(page, file);
  });
  await page.set(await fromAddress(location.hash));
} catch (error) {
  byId("error").hidden = false;
  byId("error").textContent = `The playground cannot start: ${error instanceof Error ? error.message : error}. It needs a browser from 2023 or later, with WebAssembly.`;
}
