// Colours of applications, from the style sheet, so that light and dark are decided there.

/** @import { FlowInfo, Word } from "./types" */

const GROUPS = { game: "ink", call: "pink", transfer: "steel", video: "ochre", web: "violet", other: "muted" };
const OTHERS = ["pine", "olive", "rust", "green", "orange", "blue", "violet", "pink", "steel", "ochre"];

/**
 * The name of a colour for each flow. Flows of one group take turns with what is left, so that two uploads differ.
 * @param {FlowInfo[]} flows
 * @param {Word[]} apps
 */
export function colours(flows, apps) {
  const taken = new Set();
  return flows.map(({ app }) => {
    const group = /** @type {keyof typeof GROUPS} */ (apps.find(({ word }) => word === app)?.group);
    const own = GROUPS[group] ?? "muted";
    const name = taken.has(own) ? (OTHERS.find((other) => !taken.has(other)) ?? own) : own;
    taken.add(name);
    return name;
  });
}

/** Reads colours of the style sheet, and again when the theme changes. */
export class Palette {
  /** @type {Record<string, string>} */
  #known = {};

  /** @param {() => void} changed */
  constructor(changed) {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#known = {};
      changed();
    });
  }

  /** @param {string} name */
  of(name) {
    return (this.#known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "gray");
  }
}
