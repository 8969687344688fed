// What a person can change: where to start, who is at home, the line, the gateways.

import { el } from "./elements.js";
import { groupOf } from "./fares.js";
import { AS_IS, FILE, NOTHING, OWN, QUEUE } from "./state.js";

/** @import { Description, Everything, Side } from "./types" */
/** @import { State } from "./state" */

/**
 * A slider over a scale of its own.
 * @typedef {{ key: "down" | "up" | "rtt" | "buffer" | "players", label: string, unit: string, values: number[] }} Slider
 */

/** @type {Slider[]} */
const SLIDERS = [
  { key: "down", label: "Downstream", unit: "Mbit/s", values: [1, 2, 4, 6, 8, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 500, 1000] },
  { key: "up", label: "Upstream", unit: "Mbit/s", values: [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 35, 40, 50, 75, 100, 200, 300, 500] },
  { key: "rtt", label: "Base delay, there and back", unit: "ms", values: [0, 5, 10, 15, 20, 22, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300] },
  { key: "buffer", label: "Buffer of today's boxes", unit: "ms", values: [10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000] },
  { key: "players", label: "Players in the match", unit: "", values: [2, 4, 6, 8, 10, 12, 16, 24, 32, 64] },
];

const GROUPS = { game: "Games", cloud: "Cloud games", mmo: "Games over TCP", call: "Calls", transfer: "Uploads and downloads", video: "Video", live: "Live streams", camera: "Cameras", web: "Web", remote: "Playing at home from elsewhere" };

export class Controls {
  /** @type {HTMLElement | null} What had the focus when the panel was last drawn. */
  #focused = null;

  /**
   * @param {HTMLElement} place
   * @param {{ everything: Everything, shipped: Record<string, string>, change: (change: Partial<State>) => void, read: (file: File) => void }} page
   */
  constructor(place, page) {
    this.place = place;
    this.page = page;
  }

  /**
   * Draws all controls. The one with the focus keeps it.
   * @param {State} state
   * @param {Description | null} description of side A
   */
  show(state, description) {
    const focus = /** @type {HTMLElement} */ (document.activeElement)?.dataset?.key;
    this.place.replaceChildren(this.#start(state), this.#people(state, description), this.#line(state, description), this.#gateways(state));
    this.#focused = focus ? this.place.querySelector(`[data-key="${focus}"]`) : null;
    this.#focused?.focus({ preventScroll: true });
  }

  /** @param {State} state */
  #start(state) {
    const { presets } = this.page.everything;
    const households = presets.filter(({ word }) => word === "household");
    const options = [
      group("", [option(OWN, "Your own home", state.start)]),
      group("Households", households.map(({ name, title }) => option(name, title || name, state.start))),
      group("Scenarios", Object.keys(this.page.shipped).map((name) => option(name, name, state.start))),
    ];
    if (state.start === FILE) options.push(group("", [option(FILE, "your file", state.start)]));
    const plans = presets.filter(({ word }) => word === "plan");
    const fields = [
      select("Start with", "start", options.flat(), (start) => this.page.change({ start, off: [], ...unset(), a: AS_IS, seed: null })),
    ];
    if (state.start === OWN) {
      const choices = plans.map(({ name, title }) => option(name, title, state.plan));
      fields.push(select("Access plan", "plan", choices, (plan) => this.page.change({ plan, ...unset() })));
    }
    const file = el("input", { type: "file", id: "file", accept: ".toml,.pcap,.pcapng,.gz,.zst,.rate,.cap", class: "hidden", change: (event) => event.target.files[0] && this.page.read(event.target.files[0]) });
    const open = el("label", { for: "file", class: "button" }, "Open a scenario or a capture…");
    return section("Start", ...fields, el("div", { class: "file" }, file, open));
  }

  /**
   * @param {State} state
   * @param {Description | null} description
   */
  #people(state, description) {
    const { everything, change } = this.page;
    const list = el("ul", { class: "flows" });
    const flows = description?.keys.flow ?? [];
    for (const flow of flows) {
      const isOn = !state.off.includes(flow.name);
      const label = description?.flows.find(({ name }) => name === flow.name)?.label ?? flow.title ?? flow.name;
      const toggle = el("input", {
        type: "checkbox",
        id: `flow-${flow.name}`,
        "data-key": `flow-${flow.name}`,
        checked: isOn,
        change: ({ target }) => change({ off: target.checked ? state.off.filter((name) => name !== flow.name) : [...state.off, flow.name] }),
      });
      const about = [flow.host, groupOf(flow.app, everything)].filter(Boolean).join(", ");
      list.append(el("li", {}, toggle, el("label", { for: `flow-${flow.name}` }, `${label} `, el("small", {}, about))));
    }
    const more = [];
    if (state.start === OWN) {
      const apps = everything.presets.filter(({ word }) => word === "with");
      const groups = [...new Set(apps.map((app) => app.group))];
      const choices = [option("", "Somebody else does…", ""), ...groups.map((name) => group(GROUPS[/** @type {keyof GROUPS} */ (name)] ?? name, apps.filter((app) => app.group === name).map((app) => option(app.name, app.title, ""))))];
      more.push(select("Add", "add", choices.flat(), (name) => name && change({ apps: [...state.apps, name], off: [] })));
      const removals = state.apps.map((name, place) =>
        el("button", { type: "button", class: "small", "data-key": `remove-${place}`, "aria-label": `Remove ${name}`, click: () => change({ apps: state.apps.filter((_, other) => other !== place), off: [] }) }, `${name} ✕`),
      );
      more.push(el("div", { class: "removals" }, ...removals));
    }
    return section("At home", list, ...more);
  }

  /**
   * @param {State} state
   * @param {Description | null} description
   */
  #line(state, description) {
    const now = description && current(description);
    const hasBuffer = [state.a, state.b].includes(AS_IS);
    const sliders = SLIDERS.filter(({ key }) => (key !== "buffer" || hasBuffer) && (state[key] !== null || now?.[key] !== undefined)).map((slider) => {
      const value = state[slider.key] ?? now?.[slider.key] ?? slider.values[0];
      const place = nearest(slider.values, value);
      const shown = el("output", { for: slider.key }, `${value} ${slider.unit}`.trim());
      const input = el("input", {
        type: "range",
        id: slider.key,
        "data-key": slider.key,
        min: 0,
        max: slider.values.length - 1,
        value: place,
        "aria-valuetext": `${value} ${slider.unit}`.trim(),
        input: ({ target }) => this.page.change({ [slider.key]: slider.values[target.value] }),
      });
      return el("div", { class: "slider" }, el("label", { for: slider.key }, slider.label), shown, input);
    });
    return section("The line", ...sliders);
  }

  /** @param {State} state */
  #gateways(state) {
    const { presets, catalogue } = this.page.everything;
    const policies = presets.filter(({ word }) => word === "policy");
    const queues = catalogue.queues.filter(({ isolates }) => isolates !== "classes");
    const choices = (/** @type {string} */ chosen, /** @type {HTMLElement[]} */ before) => [
      ...before,
      option(AS_IS, "as it is today", chosen),
      group("Shaped a little below the line", policies.filter(({ name }) => name !== "as-delivered").map(({ name, title }) => option(name, title, chosen))),
      group("A queue right at the line", queues.map(({ word, label }) => option(QUEUE + word, label, chosen))),
    ];
    const one = (/** @type {Side} */ side, /** @type {string} */ label, /** @type {HTMLElement[]} */ before) =>
      select(label, side, choices(state[side], before).flat(), (choice) => this.page.change({ [side]: choice }));
    return section("The gateway", one("a", "This gateway", []), one("b", "Side by side with", [option(NOTHING, "nothing", state.b)]));
  }
}

/**
 * What the sliders stand at when nobody has moved them.
 * @param {Description} description
 * @returns {Partial<Record<Slider["key"], number>>}
 */
function current({ keys, rate_bps, flows }) {
  const { kind, rtt } = keys.link;
  const { modem, up } = keys.gateway ?? {};
  const isFixed = kind !== "trace";
  // The label says how many play, also where the model decides it.
  const players = flows.filter(({ app }) => app === "game").map(({ label }) => /, (\d+) players/.exec(label)?.[1])[0];
  const limit = modem?.limit ?? (up?.queue === "fifo" ? up.limit : undefined);
  return {
    ...(isFixed && { down: rate_bps.down / 1e6, up: rate_bps.up / 1e6 }),
    ...(rtt !== undefined && { rtt: Number.parseFloat(rtt) * (rtt.endsWith("us") ? 1e-3 : rtt.endsWith("ms") ? 1 : 1e3) }),
    ...(limit !== undefined && { buffer: Math.round((bytes(limit) * 8e3) / rate_bps.up) }),
    ...(players && { players: Number(players) }),
  };
}

/**
 * Bytes of a limit such as 245KiB or 1000p; packets are full ones.
 * @param {string} limit
 */
function bytes(limit) {
  const [, number, unit] = /^([\d.]+)(.*)$/.exec(limit) ?? [];
  return Number(number) * ({ p: 1500, KiB: 1024, MiB: 1 << 20, KB: 1e3, kB: 1e3, MB: 1e6, B: 1 }[unit] ?? 1);
}

/** @returns {Partial<State>} */
function unset() {
  return { down: null, up: null, rtt: null, buffer: null, players: null };
}

/**
 * @param {number[]} values
 * @param {number} value
 */
function nearest(values, value) {
  return values.reduce((best, each, place) => (Math.abs(each - value) < Math.abs(values[best] - value) ? place : best), 0);
}

/**
 * @param {string} title
 * @param {HTMLElement[]} inside
 */
function section(title, ...inside) {
  return el("section", {}, el("h2", {}, title), ...inside);
}

/**
 * @param {string} label
 * @param {string} key
 * @param {HTMLElement[]} options
 * @param {(value: string) => void} change
 */
function select(label, key, options, change) {
  const made = el("select", { id: key, "data-key": key, change: ({ target }) => change(target.value) }, ...options);
  return el("div", { class: "field" }, el("label", { for: key }, label), made);
}

/**
 * @param {string} value
 * @param {string} text
 * @param {string} chosen
 */
function option(value, text, chosen) {
  return el("option", { value, selected: value === chosen }, text);
}

/**
 * @param {string} label
 * @param {HTMLElement[]} options
 * @returns {HTMLElement[]}
 */
function group(label, options) {
  return label ? [el("optgroup", { label }, ...options)] : options;
}
