// The explorer: a map, a table to search, and the runs of one combination.
const sweep = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const STEP = 100;

const state = {
  metric: sweep.metric,
  roles: sweep.dimensions.map((dimension, index) =>
    index === sweep.layout.x ? "x" : index === sweep.layout.y ? "y" : sweep.layout.panels.includes(index) ? "panels" : "mean"),
  less: false, chosen: null, words: "", within: false, sort: null, down: false, shown: STEP, open: null,
};

// Numbers.

function estimate(values) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return { mean: null, half: null };
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  if (known.length === 1) return { mean, half: null };
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (known.length - 1);
  return { mean, half: sweep.t95[known.length] * Math.sqrt(variance / known.length) };
}

const estimates = sweep.cells.map((_, cell) => sweep.metrics.map((_, metric) => estimate(sweep.runs[cell][metric])));

function text(value, digits) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (digits !== undefined) return value.toFixed(digits);
  return size >= 100 ? Math.round(value).toLocaleString("en") : size >= 10 ? value.toFixed(1) : size >= 0.01 ? value.toFixed(2) : value.toExponential(1);
}

function keeps(cell) {
  return sweep.limits.every(({ metric, operator, bound }) => {
    if (metric === null) return true;
    const { mean } = estimates[cell][metric];
    if (mean === null) return false;
    return { "<=": mean <= bound, "<": mean < bound, ">=": mean >= bound, ">": mean > bound }[operator];
  });
}

const label = (cell, dimension) => sweep.dimensions[dimension].labels[sweep.cells[cell][dimension]];

// Elements.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function choice(title, options, value, change) {
  const select = element("select", { onchange: () => change(select.value) },
    ...options.map(([key, words]) => element("option", { value: key }, words)));
  select.value = value;
  return element("label", {}, title, select);
}

// The map.

function controls() {
  const place = byId("controls");
  place.replaceChildren(choice("number", sweep.metrics.map(({ name }, index) => [String(index), name]), String(state.metric),
    (value) => { state.metric = Number(value); draw_map(); }));
  sweep.dimensions.forEach((dimension, index) => {
    if (dimension.labels.length < 2) return;
    const roles = [["x", "columns"], ["y", "rows"], ["panels", "panels"], ["mean", `mean of ${dimension.labels.length}`],
      ...dimension.labels.map((words, at) => [String(at), `= ${words}`])];
    place.append(choice(dimension.short, roles, state.roles[index], (value) => {
      const other = state.roles.indexOf(value);
      if ((value === "x" || value === "y") && other >= 0) state.roles[other] = state.roles[index];
      state.roles[index] = value;
      controls();
      draw_map();
    }));
  });
  if (base_rtt() >= 0) {
    const box = element("input", { type: "checkbox", onchange: () => { state.less = box.checked; draw_map(); } });
    box.checked = state.less;
    place.append(element("label", {}, box, "minus the base RTT"));
  }
}

const base_rtt = () => sweep.dimensions.findIndex(({ keys }) => keys.length === 1 && keys[0] === "link.rtt");

function base_of(cell) {
  const words = label(cell, base_rtt());
  const found = /^([\d.]+)\s*(us|ms|s)$/.exec(words);
  return found ? Number(found[1]) * { us: 1e-3, ms: 1, s: 1e3 }[found[2]] : 0;
}

function draw_map() {
  const metric = sweep.metrics[state.metric];
  const less = state.less && metric.unit === "ms" && /rtt/.test(metric.name) && base_rtt() >= 0;
  const at = (role) => state.roles.indexOf(role);
  const [x, y] = [at("x"), at("y")];
  const groups = new Map();
  sweep.cells.forEach((position, cell) => {
    if (position.some((value, index) => /^\d+$/.test(state.roles[index]) && Number(state.roles[index]) !== value)) return;
    const panel = position.map((value, index) => (state.roles[index] === "panels" ? value : "")).join(",");
    const key = [panel, y < 0 ? 0 : position[y], x < 0 ? 0 : position[x]].join("|");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(cell);
  });
  const squares = new Map();
  for (const [key, cells] of groups) {
    const means = cells.map((cell) => {
      const { mean } = estimates[cell][state.metric];
      return mean === null ? null : (mean - (less ? base_of(cell) : 0)) * metric.factor;
    }).filter((mean) => mean !== null);
    if (means.length) squares.set(key, { value: means.reduce((a, b) => a + b, 0) / means.length, cells });
  }
  const values = [...squares.values()].map(({ value }) => value);
  const ordered = [...values].sort((a, b) => a - b);
  const [low, high] = [0.05, 0.95].map((share) => ordered[Math.round(share * (ordered.length - 1))]);
  const colour = ramp(low, high, metric.higher);
  const panels = [...new Set([...groups.keys()].map((key) => key.split("|")[0]))];
  byId("map").replaceChildren(...panels.map((panel) => map_of(panel, x, y, squares, colour)));
  const mean = sweep.dimensions.filter((dimension, index) => state.roles[index] === "mean" && dimension.labels.length > 1)
    .map(({ labels, name }) => `${labels.length} ${name}`);
  byId("map-caption").textContent = `${metric.name}${less ? " minus the base RTT" : ""}${metric.unit ? ` in ${metric.unit}` : ""}; `
    + `${metric.higher ? "higher" : "lower"} is better. ${mean.length ? `Each number is the mean over ${mean.join(" and ")}. ` : ""}`
    + `${sweep.limits.length ? "Underlined: all combinations behind the number are within every budget. " : ""}Click a number to see its combinations.`;
}

function ramp(low, high, higher) {
  const log = low > 0 && high / low > 8;
  const stops = sweep.heat.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return (value) => {
    let share = high <= low ? 0 : log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
    share = Math.min(Math.max(share, 0), 1);
    if (higher) share = 1 - share;
    const place = share * (stops.length - 1);
    const from = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[from].map((part, index) => Math.round(part + (stops[from + 1][index] - part) * (place - from)));
    return { background: `rgb(${mixed.join(" ")})`, dark: share > 0.62 };
  };
}

function map_of(panel, x, y, squares, colour) {
  const names = panel.split(",").map((value, index) => (value === "" ? null : `${sweep.dimensions[index].short} ${sweep.dimensions[index].labels[value]}`));
  const columns = x < 0 ? [""] : sweep.dimensions[x].labels;
  const rows = y < 0 ? [""] : sweep.dimensions[y].labels;
  const head = element("tr", {}, element(x < 0 ? "td" : "th", {}, x < 0 ? "" : sweep.dimensions[x].short), ...columns.map((words) => element("th", { scope: "col", title: words }, words)));
  const body = rows.map((words, row) => element("tr", {}, element("th", { scope: "row", title: words }, words), ...columns.map((_, column) => {
    const square = squares.get([panel, row, column].join("|"));
    if (!square) return element("td", { class: "none" });
    const { background, dark } = colour(square.value);
    const kept = sweep.limits.length > 0 && square.cells.every(keeps);
    const choose = () => { state.chosen = new Set(square.cells); state.shown = STEP; draw_table(); byId("table-section").scrollIntoView({ behavior: "smooth" }); };
    return element("td", { class: dark ? "dark" : null, tabindex: 0, style: `background: ${background};${kept ? "text-decoration: underline" : ""}`,
      onclick: choose, onkeydown: (event) => { if (event.key === "Enter") choose(); } }, text(square.value));
  })));
  return element("div", {}, names.some((name) => name) ? element("h3", {}, names.filter((name) => name).join(", ")) : null,
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// The table.

const varying = sweep.dimensions.map((_, index) => index).filter((index) => sweep.dimensions[index].labels.length > 1);
const words_of = sweep.cells.map((_, cell) => sweep.dimensions.map((dimension, index) => `${dimension.short}=${label(cell, index)} ${label(cell, index)}`).join(" ").toLowerCase());
const columns_of_table = sweep.metrics.map((_, index) => index).slice(0, 7);

function chosen_cells() {
  const wanted = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  let cells = sweep.cells.map((_, cell) => cell).filter((cell) =>
    (!state.chosen || state.chosen.has(cell)) && (!state.within || keeps(cell))
    && wanted.every((word) => ` ${words_of[cell]} `.includes(` ${word} `) || (wanted.length === 1 && words_of[cell].includes(word)) || words_of[cell].split(" ").some((own) => own.startsWith(word))));
  if (state.sort) {
    const [kind, index] = state.sort;
    const value = kind === "axis" ? (cell) => sweep.cells[cell][index] : (cell) => estimates[cell][index].mean ?? Infinity;
    cells = cells.map((cell) => [value(cell), cell]).sort((a, b) => (state.down ? b[0] - a[0] : a[0] - b[0]) || a[1] - b[1]).map(([, cell]) => cell);
  }
  return cells;
}

function draw_table() {
  const cells = chosen_cells();
  const heading = (kind, index, words, unit) => {
    const own = state.sort && state.sort[0] === kind && state.sort[1] === index;
    return element("th", { class: kind === "axis" ? "word" : null, "aria-sort": own ? (state.down ? "descending" : "ascending") : null }, element("button", { type: "button", class: "sort",
      onclick: () => { state.down = own ? !state.down : false; state.sort = [kind, index]; draw_table(); byId("cells").querySelector("[aria-sort] .sort").focus(); } },
      words, unit ? element("small", {}, unit) : null));
  };
  const head = element("tr", {}, element("td", {}), ...varying.map((index) => heading("axis", index, sweep.dimensions[index].short)),
    ...columns_of_table.map((index) => heading("metric", index, sweep.metrics[index].name, sweep.metrics[index].unit)));
  const rows = [];
  for (const cell of cells.slice(0, state.shown)) {
    const unfold_cell = () => { state.open = state.open === cell ? null : cell; draw_table(); byId("cells").querySelector(`[data-cell="${cell}"]`).focus(); };
    rows.push(element("tr", { onclick: unfold_cell },
      element("td", {}, element("button", { type: "button", class: "sort", "data-cell": cell, "aria-expanded": String(state.open === cell), "aria-label": "runs of this combination" }, state.open === cell ? "▾" : "▸")),
      ...varying.map((index) => element("td", { class: "word" }, label(cell, index))),
      ...columns_of_table.map((index) => value_cell(cell, index))));
    if (state.open === cell) rows.push(drill(cell));
  }
  byId("cells").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  byId("count").textContent = `${cells.length.toLocaleString("en")} of ${sweep.cells.length.toLocaleString("en")} combinations`;
  byId("more").hidden = cells.length <= state.shown;
  byId("clear").hidden = !state.chosen;
  if (state.open !== null) draw_series(state.open);
}

function value_cell(cell, index) {
  const { mean, half } = estimates[cell][index];
  const { factor } = sweep.metrics[index];
  const limits = sweep.limits.filter(({ metric }) => metric === index);
  const words = mean === null ? "" : text(mean * factor);
  const digits = (words.split(".")[1] ?? "").length;
  return element("td", { class: limits.length ? (keeps_these(cell, limits) ? "ok" : "bad") : null }, words,
    half ? element("span", { class: "interval" }, ` ± ${text(half * factor, /e/.test(words) ? undefined : digits)}`) : null);
}

const keeps_these = (cell, limits) => limits.every(({ metric, operator, bound }) => {
  const { mean } = estimates[cell][metric];
  return mean !== null && { "<=": mean <= bound, "<": mean < bound, ">=": mean >= bound, ">": mean > bound }[operator];
});

// One combination.

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);

const pairs = (cell, dimension, index) => dimension.keys.map((key, at) => [key, dimension.values[sweep.cells[cell][index]][at]]);

function settings(cell) {
  const values = Object.entries(sweep.set);
  sweep.dimensions.forEach((dimension, index) => {
    values.push(...pairs(cell, dimension, index));
  });
  return values;
}

function drill(cell) {
  const command = ["gamelane", "run", sweep.base, ...settings(cell).flatMap(([key, value]) => ["--set", `${key}=${value}`])];
  const seeds = sweep.run_seeds[cell];
  command.push("--seed", String(seeds[0]), ...(seeds.length > 1 ? ["--repeat", String(seeds.length)] : []));
  const head = element("tr", {}, element("th", {}, "seed"), ...sweep.metrics.map(({ name, unit }) => element("th", {}, name, element("small", {}, unit))));
  const body = seeds.map((seed, run) => element("tr", {}, element("th", { scope: "row" }, String(seed)),
    ...sweep.metrics.map(({ factor }, index) => { const value = sweep.runs[cell][index][run]; return element("td", {}, value === null ? "" : text(value * factor)); })));
  const detail = varying.flatMap((index) => pairs(cell, sweep.dimensions[index], index).map(([key, value]) => `${key}=${value}`)).join(",");
  const there = sweep.series[sweep.ids[cell]];
  return element("tr", { class: "drill" }, element("td", { colspan: 1 + varying.length + columns_of_table.length },
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body))),
    element("p", { class: "caption" }, "Run this combination alone, with plots and records (add -o DIR):"),
    element("pre", {}, element("code", {}, command.map(quoted).join(" "))),
    there ? element("div", { class: "panels", id: "series" })
      : element("p", { class: "caption" }, "To show it over time on this page: ", element("code", {}, `gamelane sweep ${quoted(sweep.file)} -o DIR --detail ${quoted(detail)}`))));
}

function draw_series(cell) {
  const kept = sweep.series[sweep.ids[cell]];
  const place = byId("series");
  if (!kept || !place) return;
  const plots = [["RTT", "ms", kept.rtt_ms], ["Backlog", "packets", kept.backlog_packets],
    ["Throughput", "kbit/s", kept.throughput_kbps], ["Lost per second", "packets", kept.lost_packets]];
  for (const [title, unit, lines] of plots) {
    const busy = Object.entries(lines).filter(([, { v }]) => v.some((value) => value > 0));
    if (busy.length === 0) continue;
    const values = busy.flatMap(([line, { t, v }]) => t.map((at, index) => ({ t: at, v: v[index], line })));
    const plot = element("div", { class: "plot" });
    place.append(element("figure", {}, element("figcaption", {}, `${title}, seed ${kept.seed}`), plot));
    embed(plot, { data: { values }, width: "container", height: 150,
      mark: { type: "line", strokeWidth: 1.2, clip: true, interpolate: unit === "ms" || title === "Backlog" ? "linear" : "step-after" },
      encoding: { x: { field: "t", type: "quantitative", title: "s", scale: { domain: [0, kept.duration_s] } }, y: { field: "v", type: "quantitative", title: unit },
        color: { field: "line", type: "nominal", title: null, legend: busy.length > 1 ? { orient: "bottom", labelColor: "$muted", columns: 3 } : null } } });
  }
}

byId("filter").addEventListener("input", (event) => { state.words = event.target.value; state.shown = STEP; draw_table(); });
byId("within")?.addEventListener("change", (event) => { state.within = event.target.checked; state.shown = STEP; draw_table(); });
byId("more").addEventListener("click", () => { state.shown += STEP; draw_table(); });
byId("clear").addEventListener("click", () => { state.chosen = null; draw_table(); });
controls();
draw_map();
draw_table();
