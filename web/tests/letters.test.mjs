// Bytes as letters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fromLetters, toLetters } from "../src/letters.js";

test("bytes come back as they were, and no letter ends a script", () => {
  for (const length of [0, 1, 2, 3, 4, 5, 1021]) {
    const bytes = Uint8Array.from({ length }, (_, place) => (length === 4 ? 255 : (place * 7919) >> 3));
    const text = toLetters(bytes);
    assert.deepEqual(fromLetters(text), bytes);
    assert.match(text, /^\d+ [(-;=-}]*$/);
    assert.equal(text.length, `${length} `.length + 5 * Math.ceil(length / 4));
  }
});
