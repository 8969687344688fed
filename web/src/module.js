// Unpacks what the page carries: the WebAssembly module, and the program of the workers.

import { decompress } from "fzstd";
import { byId } from "./elements.js";
import { fromLetters } from "./letters.js";

/** The module of the simulator, packed with Zstandard and written in letters. */
export async function unpacked() {
  const packed = fromLetters(byId("module").textContent ?? "");
  return WebAssembly.compile(/** @type {BufferSource} */ (decompress(packed)));
}

/** @returns {() => Worker} */
export function workers() {
  const program = new Blob([byId("worker").textContent ?? ""], { type: "text/javascript" });
  const address = URL.createObjectURL(program);
  return () => new Worker(address);
}
