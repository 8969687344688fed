// Unpacks what the page carries: the WebAssembly module, and the program of the workers.

import { decompress } from "fzstd";
import { byId } from "./elements.js";

/** The module of the simulator, packed with Zstandard and written in base64. */
export async function unpacked() {
  const letters = atob(byId("module").textContent ?? "");
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return WebAssembly.compile(/** @type {BufferSource} */ (decompress(bytes)));
}

/** @returns {() => Worker} */
export function workers() {
  const program = new Blob([byId("worker").textContent ?? ""], { type: "text/javascript" });
  const address = URL.createObjectURL(program);
  return () => new Worker(address);
}
