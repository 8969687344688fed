// What is in a queue at a moment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { firstAfter, Lane } from "../src/queue.js";

/** Packets of rows [flow, sent, enter, leave, arrive]. */
function packets(...rows) {
  const column = (place) => Float32Array.from(rows, (row) => row[place]);
  return { flow: Uint16Array.from(rows, ([flow]) => flow), sent: column(1), enter: column(2), leave: column(3), arrive: column(4) };
}

test("the first later time is found by halving", () => {
  assert.equal(firstAfter([1, 2, 2, 3], 2), 3);
  assert.equal(firstAfter([1, 2], 0), 0);
  assert.equal(firstAfter([1, 2], 2), 2);
  assert.equal(firstAfter([], 1), 0);
});

test("packets wait in the order in which they leave", () => {
  // The packet of flow 1 came last and overtakes, as a queue with turns lets it.
  const lane = new Lane(packets([0, 0, 1, 2, 3], [1, 1.5, 1.75, 2.5, 3.5], [0, 0.5, 1.25, 4, 5]));
  assert.deepEqual(lane.waiting(1.9).map(({ flow }) => flow), [0, 1, 0]);
  assert.deepEqual(lane.waiting(2).map(({ leave }) => leave), [2.5, 4]);
  assert.deepEqual(lane.waiting(4), []);
});

test("a packet is before, in or behind the queue, and then gone", () => {
  const lane = new Lane(packets([0, 0, 1, 2, 4], [3, 8, 9, 9, 10]));
  const where = (time) => [lane.coming(time), lane.waiting(time), lane.leaving(time)].map((each) => each.length);
  assert.deepEqual([0.5, 1.5, 3, 5].map(where), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]);
  assert.equal(lane.leaving(3)[0].done, 0.5);
});
