// Which packets are in a queue, and which are under way, at a moment of a run.

/** @import { Packets } from "./types" */

/**
 * @typedef {{ flow: number, leave: number }} Waiting
 * @typedef {{ flow: number, done: number }} Moving part of its way that is done, 0 to 1
 */

export class Lane {
  /** Longest trip, from sending to arrival. */
  #longest = 0;

  /** @param {Packets} packets in order of arrival */
  constructor(packets) {
    this.packets = packets;
    const { sent, arrive } = packets;
    for (let row = 0; row < sent.length; row++) this.#longest = Math.max(this.#longest, arrive[row] - sent[row]);
  }

  /**
   * The packets in the queues at a time, the next to leave first.
   * @param {number} time
   * @returns {Waiting[]}
   */
  waiting(time) {
    const { flow, enter, leave } = this.packets;
    const found = [];
    for (const row of this.#near(time)) {
      if (enter[row] <= time && time < leave[row]) found.push({ flow: flow[row], leave: leave[row] });
    }
    return found.sort((one, other) => one.leave - other.leave);
  }

  /**
   * The packets that have left the queues and have not arrived.
   * @param {number} time
   * @returns {Moving[]}
   */
  leaving(time) {
    const { flow, leave, arrive } = this.packets;
    const found = [];
    for (const row of this.#near(time)) {
      if (leave[row] <= time && time < arrive[row]) found.push({ flow: flow[row], done: (time - leave[row]) / (arrive[row] - leave[row]) });
    }
    return found;
  }

  /**
   * The packets that have not reached the queues yet.
   * @param {number} time
   * @returns {Moving[]}
   */
  coming(time) {
    const { flow, sent, enter } = this.packets;
    const found = [];
    for (const row of this.#near(time)) {
      if (sent[row] <= time && time < enter[row]) found.push({ flow: flow[row], done: (time - sent[row]) / (enter[row] - sent[row]) });
    }
    return found;
  }

  /**
   * The rows that may be under way at a time: they arrive after it, but not later than the longest trip takes.
   * @param {number} time
   */
  *#near(time) {
    const { arrive } = this.packets;
    for (let row = firstAfter(arrive, time); row < arrive.length && arrive[row] <= time + this.#longest; row++) yield row;
  }
}

/**
 * The first place whose time is greater.
 * @param {ArrayLike<number>} times in order
 * @param {number} time
 */
export function firstAfter(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
