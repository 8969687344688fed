// How each application fares: the number that tells, and a grade. Numbers and limits are those of python/gamelane/analysis/fares.py.

/** @import { Everything, FlowInfo, Preset, Result } from "./types" */

/** Limits of a game's and a video call's loss, %. */
export const LOSS = [1, 3, 10];
/** Limits of the share of the time that a video stands still, %. */
export const STALLED = [0.2, 1, 5];
/** Round trips of a game whose model has no limits of its own, ms. */
export const USUAL_MS = [50, 100, 150];
export const GRADES = ["good", "playable", "degraded", "unplayable"];

/** @typedef {{ heading: string, unit: string, value: number | null, grade: number | null }} Fare */

/**
 * @param {number[]} limits
 * @param {number | null} value
 */
export function grade(limits, value) {
  return value === null ? 3 : limits.filter((limit) => !(value <= limit)).length;
}

/**
 * The group of an application: game, call, video, …
 * @param {string} app
 * @param {Everything} everything
 * @returns {string}
 */
export function groupOf(app, { catalogue }) {
  return catalogue.apps.find(({ word }) => word === app)?.group ?? "";
}

/**
 * Round trips that players of a flow accept.
 * @param {FlowInfo} flow
 * @param {any} keys of the scenario
 * @param {Preset[]} presets
 */
export function limitsOf(flow, keys, presets) {
  const model = keys.flow.find((/** @type {any} */ one) => one.name === flow.name)?.model;
  const quality = presets.find(({ word, name }) => word === "with" && name === model)?.quality;
  const [good_ms, playable_ms, bad_ms] = USUAL_MS;
  return quality ?? { good_ms, playable_ms, bad_ms };
}

/**
 * @param {Result} result of a run that has ended
 * @param {number} index of the flow
 * @param {Everything} everything
 * @returns {Fare[]}
 */
export function fares({ summary, description }, index, everything) {
  const flow = description.flows[index];
  const own = summary.flows[flow.name];
  if (!own) return [];
  const seconds = description.duration_s - description.warmup_s;
  const group = groupOf(flow.app, everything);
  const { good_ms, playable_ms, bad_ms } = limitsOf(flow, description.keys, everything.presets);
  const trip = (/** @type {string} */ heading, /** @type {number | null} */ value) => ({
    heading,
    unit: "ms",
    value,
    grade: grade([good_ms, playable_ms, bad_ms], value),
  });
  const sent = own.up.sent + own.down.sent;
  const lost = sent ? (100 * (own.up.lost + own.down.lost)) / sent : null;
  const loss = { heading: "lost", unit: "%", value: lost, grade: grade(LOSS, lost) };
  if (own.thin) return [trip("to the player 99 %", own.thin.down.delivery_ms.p99)];
  if (group === "game") return [trip("round trip 99 %", own.rtt_ms.p99), loss];
  if (group === "call" && own.rtt_ms.p99 !== null) return [{ heading: "round trip 99 %, not graded here", unit: "ms", value: own.rtt_ms.p99, grade: null }, loss];
  if (group === "video") {
    const still = (100 * own.stall_seconds) / seconds;
    return [{ heading: "stands still", unit: "% of the time", value: still, grade: grade(STALLED, still) }];
  }
  if (group === "web") {
    const page = own.transfer_ms.p50;
    return [{ heading: "page, median", unit: "s", value: page === null ? null : page / 1e3, grade: null }];
  }
  if (flow.app === "udp") return [loss];
  return [{ heading: "goodput", unit: "Mbit/s", value: own.goodput_bps / 1e6, grade: null }];
}
