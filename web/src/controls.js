// What a person can change: where to start, who is at home, the line, the gateways. Elements stay while their kind stays, so that a slider
// can be dragged while everything is simulated again.

import { el } from "./elements.js";
import { groupOf } from "./fares.js";
import { AS_IS, FILE, NOTHING, OWN, QUEUE, queuesAtLine } from "./state.js";

/** @import { Description, Everything, Side } from "./types" */
/** @import { State } from "./state" */

/** @typedef {{ key: "down" | "up" | "rtt" | "buffer" | "players", label: string, unit: string, values: number[] }} Slider */

/** @type {Slider[]} */
const SLIDERS = [
  { key: "down", label: "Downstream", unit: "Mbit/s", values: [1, 2, 4, 6, 8, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 500, 1000] },
  { key: "up", label: "Upstream", unit: "Mbit/s", values: [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 35, 40, 50, 75, 100, 200, 300, 500] },
  { key: "rtt", label: "Delay beyond the line, there and back", unit: "ms", values: [0, 5, 10, 15, 20, 22, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300] },
  { key: "buffer", label: "Buffer in front of the line, upstream", unit: "ms", values: [10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 10000] },
  { key: "players", label: "Players in the match", unit: "", values: [2, 4, 6, 8, 10, 12, 14, 16, 24, 32, 64] },
];

const GROUPS = { game: "Games", cloud: "Cloud games", mmo: "Games over TCP", call: "Calls", transfer: "Uploads and downloads", video: "Video", live: "Live streams", camera: "Cameras", web: "Web", remote: "Playing at home from elsewhere" };

export class Controls {
  /** What was built, so that it is built again only if that changes. */
  #built = "";
  /** @type {(() => void)[]} Set the values of what was built. */
  #updates = [];
  /** @type {State} */
  #state;
  /** @type {Description | null} */
  #base = null;

  /**
   * @param {HTMLElement} place
   * @param {State} state
   * @param {{ everything: Everything, shipped: Record<string, string>, change: (change: Partial<State>) => void, read: (file: File) => void }} page
   */
  constructor(place, state, page) {
    this.place = place;
    this.page = page;
    this.#state = state;
  }

  /**
   * @param {State} state
   * @param {Description | null} base describes the start, without what was changed here; null if it was refused
   */
  show(state, base) {
    this.#state = state;
    this.#base = base;
    const built = JSON.stringify([state.start, state.plan, state.apps, base?.flows, base?.keys.link]);
    if (built !== this.#built) {
      this.#built = built;
      const focus = /** @type {HTMLElement} */ (document.activeElement)?.id;
      const isOpen = matchMedia("(min-width: 56rem)").matches;
      const open = [...this.place.querySelectorAll("details")].map((each) => each.open);
      this.#updates = [];
      this.place.replaceChildren(this.#start(), this.#people(), this.#line(), this.#gateways());
      this.place.querySelectorAll("details").forEach((each, place) => (each.open = open[place] ?? isOpen));
      if (focus && !document.getElementById(focus)) document.getElementById("add")?.focus({ preventScroll: true });
      else if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    }
    for (const update of this.#updates) update();
  }

  #start() {
    const { presets } = this.page.everything;
    const { start } = this.#state;
    const households = presets.filter(({ word }) => word === "household");
    const options = [
      option(OWN, "Your own home"),
      ...group("Households", households.map(({ name, title, notes }) => option(name, `${title || name}: ${notes}`))),
      ...group("Scenarios", Object.entries(this.page.shipped).map(([name, text]) => option(name, `${name}: ${/^question = "(.*)"/m.exec(text)?.[1] ?? ""}`))),
      ...(start === FILE ? [option(FILE, `Your file, ${this.#state.file}`)] : []),
    ];
    const { change } = this.page;
    const fields = [this.#select("Start with", "start", options, (start) => change({ ...unset(), start, off: [], a: AS_IS, seed: null }))];
    if (start === OWN) {
      const plans = presets.filter(({ word }) => word === "plan").map(({ name, title }) => option(name, title));
      fields.push(this.#select("Access plan", "plan", plans, (plan) => change({ ...unset(), plan })));
    }
    const input = el("input", { type: "file", id: "file", accept: ".toml,.pcap,.pcapng,.gz,.zst,.rate,.cap", class: "hidden" });
    input.addEventListener("change", () => {
      const [file] = input.files ?? [];
      if (file) this.page.read(file);
      input.value = "";
    });
    return section("Start", ...fields, el("div", { class: "file" }, input, el("label", { for: "file", class: "button" }, "Open a scenario or a capture…")));
  }

  #people() {
    const { everything, change } = this.page;
    const list = el("ul", { class: "flows" });
    for (const { name, label, app } of this.#base?.flows ?? []) {
      const input = el("input", { type: "checkbox", id: `flow-${name}` });
      input.addEventListener("change", () => {
        const { off } = this.#state;
        change({ off: input.checked ? off.filter((other) => other !== name) : [...off, name] });
      });
      this.#updates.push(() => (input.checked = !this.#state.off.includes(name)));
      const host = this.#base?.keys.flow.find((/** @type {any} */ flow) => flow.name === name)?.host;
      const about = [name, host, groupOf(app, everything)].filter((word) => word && word !== "other").join(", ");
      list.append(el("li", {}, input, el("label", { for: `flow-${name}` }, `${label} `, el("small", {}, about))));
    }
    return section("At home", list, ...(this.#state.start === OWN ? this.#more() : []));
  }

  #more() {
    const { apps } = this.#state;
    const { everything, change } = this.page;
    const presets = everything.presets.filter(({ word }) => word === "with");
    const groups = [...new Set(presets.map(({ group }) => group))];
    const of = (/** @type {string} */ name) => presets.filter(({ group }) => group === name).map(({ name, title }) => option(name, title));
    const choices = [option("", "a game, a call, a video…"), ...groups.flatMap((name) => group(GROUPS[/** @type {keyof GROUPS} */ (name)] ?? name, of(name)))];
    const remove = apps.map((name, place) => {
      const button = el("button", { type: "button", class: "small", id: `remove-${place}`, "aria-label": `Remove ${name}` }, `${name} ✕`);
      button.addEventListener("click", () => change({ apps: apps.filter((_, other) => other !== place) }));
      return button;
    });
    const add = this.#select("Add", "add", choices, (name) => name && change({ apps: [...apps, name] }));
    return [add, el("div", { class: "removals" }, ...remove)];
  }

  #line() {
    return section("The line", ...SLIDERS.map((slider) => this.#slider(slider)));
  }

  /** @param {Slider} slider */
  #slider({ key, label, unit, values }) {
    const shown = el("output", { for: key });
    const input = el("input", { type: "range", id: key, min: 0, max: values.length - 1 });
    input.addEventListener("input", () => this.page.change({ [key]: values[Number(input.value)] }));
    const made = el("div", { class: "slider" }, el("label", { for: key }, label), shown, input);
    this.#updates.push(() => {
      const value = this.#state[key] ?? standing(key, this.#state, this.#base);
      made.hidden = value === null;
      if (value === null) return;
      shown.textContent = `${value} ${unit}`.trim();
      input.setAttribute("aria-valuetext", shown.textContent);
      if (values[Number(input.value)] !== value) input.value = String(nearest(values, value));
    });
    return made;
  }

  #gateways() {
    const { presets, catalogue } = this.page.everything;
    const policies = presets.filter(({ word, name }) => word === "policy" && name !== "as-delivered");
    const queues = catalogue.queues.filter(({ isolates }) => isolates !== "classes");
    const choices = () => [
      option(AS_IS, "as it is today"),
      ...group("Shaped a little below the line", policies.map(({ name, title }) => option(name, title))),
      ...group("A queue right at the line", queues.map(({ word, label }) => option(QUEUE + word, label))),
    ];
    const one = (/** @type {Side} */ side, /** @type {string} */ label, /** @type {HTMLElement[]} */ options) =>
      this.#select(label, side, options, (choice) => this.page.change({ [side]: choice }));
    return section("The gateway", one("a", "This gateway", choices()), one("b", "Side by side with", [option(NOTHING, "nothing"), ...choices()]));
  }

  /**
   * @param {string} label
   * @param {"start" | "plan" | "add" | Side} key
   * @param {HTMLElement[]} options
   * @param {(value: string) => void} change
   */
  #select(label, key, options, change) {
    const made = el("select", { id: key }, ...options);
    made.addEventListener("change", () => change(made.value));
    this.#updates.push(() => (made.value = key === "add" ? "" : this.#state[key]));
    return el("div", { class: "field" }, el("label", { for: key }, label), made);
  }
}

/**
 * Where a slider stands when nobody has moved it; null if it does nothing here.
 * @param {Slider["key"]} key
 * @param {State} state
 * @param {Description | null} base
 */
function standing(key, state, base) {
  if (!base) return null;
  const { keys, rate_bps, flows } = base;
  switch (key) {
    case "down":
    case "up":
      return rate_bps[key] ? rate_bps[key] / 1e6 : null;
    case "rtt": {
      const rtt = keys.link.rtt ?? "0ms";
      return Number.parseFloat(rtt) * (rtt.endsWith("us") ? 1e-3 : rtt.endsWith("ms") ? 1 : 1e3);
    }
    case "buffer": {
      const { modem, up, shape } = keys.gateway ?? {};
      const queue = queuesAtLine(base).up === "gateway.modem" ? modem : up;
      const isToday = [state.a, state.b].includes(AS_IS);
      // A radio or a shaper sets the pace in other ways.
      if (!isToday || !rate_bps.up || shape || keys.link.kind === "wifi-g" || queue?.queue !== "fifo" || !queue.limit) return null;
      return Math.round((bytes(queue.limit) * 8) / (1e3 * (state.up ?? rate_bps.up / 1e6)));
    }
    default: {
      // The label names the number of players even if the model decides it. A recorded match has a fixed number.
      const game = flows.find(({ app }) => app === "game");
      const isRecorded = keys.flow.some((/** @type {any} */ flow) => flow.name === game?.name && flow.trace);
      const players = !isRecorded && /, (\d+) players/.exec(game?.label ?? "")?.[1];
      return players ? Number(players) : null;
    }
  }
}

/**
 * Bytes of a limit such as 245KiB or 1000p. A packet counts as a full one.
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
  return el("details", {}, el("summary", {}, el("h2", {}, title)), ...inside);
}

/**
 * @param {string} value
 * @param {string} text
 */
function option(value, text) {
  return el("option", { value }, text);
}

/**
 * @param {string} label
 * @param {HTMLElement[]} options
 * @returns {HTMLElement[]}
 */
function group(label, options) {
  return [el("optgroup", { label }, ...options)];
}
