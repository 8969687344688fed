// Columns of a run in the shape that drawings need.

/** @import { Description, Drops, Packets, Rates, Trips, Way, Ways } from "./types" */
/** @import { Engine } from "./engine" */

/** @type {Way[]} */
export const WAYS = ["up", "down"];

/**
 * The packets that arrived, by direction.
 * @param {Engine} engine
 * @param {Description} description
 * @returns {Ways<Packets>}
 */
export function packets(engine, description) {
  const { columns, words } = engine.table("delay");
  const { flow, t_s, one_way_ms, queue_delay_ms } = columns;
  const of = (/** @type {Way} */ way) => {
    const rows = inOrder(columns, words.direction.indexOf(way), description.flows.length);
    const count = rows.length;
    const found = {
      flow: new Uint16Array(count),
      sent: new Float32Array(count),
      enter: new Float32Array(count),
      leave: new Float32Array(count),
      arrive: new Float32Array(count),
    };
    // A packet from the internet takes the path first.
    const before = description.flows.map(({ path_ms }) => (way === "down" ? path_ms.down / 1e3 : 0));
    rows.forEach((row, place) => {
      const sent = t_s[row] - one_way_ms[row] / 1e3;
      const enter = sent + before[flow[row]];
      found.flow[place] = flow[row];
      found.sent[place] = sent;
      found.enter[place] = enter;
      found.leave[place] = enter + queue_delay_ms[row] / 1e3;
      found.arrive[place] = t_s[row];
    });
    return found;
  };
  return { up: of("up"), down: of("down") };
}

/**
 * The rows of a direction in order of time. A table has them flow by flow, each in order.
 * @param {Record<string, any>} columns
 * @param {number} direction
 * @param {number} flows
 * @returns {Uint32Array}
 */
function inOrder({ flow, direction: directions, t_s }, direction, flows) {
  const counts = new Uint32Array(flows);
  let total = 0;
  for (let row = 0; row < t_s.length; row++) {
    if (directions[row] !== direction) continue;
    counts[flow[row]]++;
    total++;
  }
  const own = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let row = 0; row < t_s.length; row++) {
    if (directions[row] === direction) own[flow[row]][counts[flow[row]]++] = row;
  }
  const merged = new Uint32Array(total);
  const heads = new Uint32Array(flows);
  for (let place = 0; place < total; place++) {
    let first = -1;
    for (let each = 0; each < flows; each++) {
      if (heads[each] === own[each].length) continue;
      if (first < 0 || t_s[own[each][heads[each]]] < t_s[own[first][heads[first]]]) first = each;
    }
    merged[place] = own[first][heads[first]++];
  }
  return merged;
}

/**
 * Packets that queues dropped; `way` is a place in `WAYS`.
 * @param {Engine} engine
 * @returns {Drops}
 */
export function drops(engine) {
  const { columns, words } = engine.table("drops");
  const elsewhere = ["link", "path"].map((word) => words.reason.indexOf(word));
  const rows = [...columns.t_s.keys()].filter((row) => !elsewhere.includes(columns.reason[row]));
  const ways = words.direction.map((word) => WAYS.indexOf(/** @type {Way} */ (word)));
  return {
    flow: Uint32Array.from(rows, (row) => columns.flow[row]),
    way: Uint8Array.from(rows, (row) => ways[columns.direction[row]]),
    at: Float64Array.from(rows, (row) => columns.t_s[row]),
  };
}

/**
 * Round trips by flow.
 * @param {Engine} engine
 * @param {Description} description
 * @returns {Trips[]}
 */
export function trips(engine, description) {
  const { columns } = engine.table("rtt");
  const counts = new Uint32Array(description.flows.length);
  for (const flow of columns.flow) counts[flow]++;
  const found = Array.from(counts, (count) => ({ at: new Float64Array(count), ms: new Float64Array(count) }));
  counts.fill(0);
  columns.flow.forEach((/** @type {number} */ flow, /** @type {number} */ row) => {
    const place = counts[flow]++;
    found[flow].at[place] = columns.t_s[row];
    found[flow].ms[place] = columns.rtt_ms[row];
  });
  return found;
}

/**
 * Rates by flow, direction and second, in bit/s.
 * @param {Engine} engine
 * @param {Description} description
 * @returns {Rates}
 */
export function rates(engine, description) {
  const { columns, words } = engine.table("windows");
  const seconds = Math.ceil(description.duration_s) + 1;
  const found = description.flows.map(() => ({ up: new Float32Array(seconds), down: new Float32Array(seconds) }));
  for (let row = 0; row < columns.t_s.length; row++) {
    const second = Math.floor(columns.t_s[row]);
    const way = /** @type {Way} */ (words.direction[columns.direction[row]]);
    if (second < seconds) found[columns.flow[row]][way][second] = 8 * columns.bytes[row];
  }
  return found;
}
