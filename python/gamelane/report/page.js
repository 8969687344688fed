// What every page can do: plots in the colours of the theme, one zoom for plots with the same axis, legends, sorting.
const { config, themes, panels } = JSON.parse(document.getElementById("plots").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const views = new Map();  // place: its view
const extents = new Map();  // axis: the part that is shown; none: all of it

function themed(value) {
  let text = JSON.stringify(value);
  for (const [name, colour] of Object.entries(themes[dark.matches ? "dark" : "light"])) {
    text = text.replaceAll(`"${name}"`, `"${colour}"`);
  }
  return JSON.parse(text);
}

async function embed(place, spec) {
  const options = { mode: "vega-lite", actions: false, config: themed(config), renderer: "canvas", patch: nameWords };
  const { view } = await vegaEmbed(place, themed(spec), options);
  readByKeys(place, view);
  return view;
}

async function drawPanel(place) {
  try {
    const view = await embed(place, panels[place.dataset.panel]);
    views.get(place)?.finalize();
    views.set(place, view);
    if (place.dataset.axis) {
      view.addSignalListener(`zoom_${place.dataset.axis}`, (_, extent) => showExtent(sharedAxis(place), extent));
      showPart(view, place, extents.get(sharedAxis(place)));
    }
    await switchOff(place.closest("section"));
  } catch (error) {
    place.textContent = `This plot could not be drawn: ${error.message}`;
  }
}

// All plots over time are zoomed together, other plots with those of their figure.
function sharedAxis(place) {
  return place.dataset.axis === "t" ? "t" : place.closest("section").id;
}

function showExtent(axis, extent) {
  extents.set(axis, extent);
  for (const [place, view] of views) if (place.dataset.axis && sharedAxis(place) === axis) showPart(view, place, extent);
}

function showPart(view, place, extent) {
  const name = `zoom_${place.dataset.axis}`;
  if (String(view.signal(name) ?? "") !== String(extent ?? "")) view.signal(name, extent ?? null).runAsync();
}

// Zooms by a factor around the middle, moves by a share of the width, or shows all.
function zoomFigure(section, { zoom, move }) {
  const place = section.querySelector("[data-axis]");
  const view = views.get(place);
  if (!view) return;
  const half = (zoom ?? 1) / 2;
  const middle = 0.5 + Number(move ?? 0);
  const part = [middle - half, middle + half].map((share) => view.scale("x").invert(share * view.width()));
  showExtent(sharedAxis(place), zoom === "0" ? null : part);
}

// The wheel scrolls the page until the reader clicks into the plots, so that nobody is held on the way down.
function zoomAfterClick(place) {
  let chosen = false;
  place.addEventListener("pointerdown", () => { chosen = true; });
  place.addEventListener("pointerleave", () => { chosen = false; });
  place.addEventListener("wheel", (event) => {
    if (!chosen && !event.ctrlKey) event.stopPropagation();
  }, { capture: true });
}

async function switchOff(section) {
  const off = [...section.querySelectorAll('[data-values][aria-pressed="false"]')];
  const hidden = off.flatMap((key) => JSON.parse(key.dataset.values));
  const own = [...views].filter(([place]) => section.contains(place)).map(([, view]) => view);
  await Promise.all(own.filter((view) => String(view.signal("hidden")) !== String(hidden))
    .map((view) => view.signal("hidden", hidden).runAsync()));
}

// A column that has numbers is sorted by the first number of each cell, another one by its words. Empty cells come last.
function sortable(table) {
  const body = table.tBodies[0];
  if (!table.tHead || table.tHead.rows.length !== 1 || !body || body.rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.ariaSort === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.ariaSort = down ? "descending" : "ascending";
      body.append(...inOrder([...body.rows], column, down));
    });
  });
}

function inOrder(rows, column, down) {
  const words = rows.map((row) => row.cells[column]?.innerText.trim() ?? "");
  const numbers = words.map((word) => Number(/^-?[\d,]*\.?\d+/.exec(word.replace("−", "-"))?.[0].replaceAll(",", "") ?? NaN));
  const counted = words.every((word, at) => word === "" || word === "n/a" || !Number.isNaN(numbers[at]));
  const known = (at) => (counted ? !Number.isNaN(numbers[at]) : words[at] !== "");
  const order = (a, b) => (counted ? numbers[a] - numbers[b] : words[a].localeCompare(words[b], "en", { numeric: true }));
  return [...rows.keys()].sort((a, b) => known(b) - known(a) || (known(a) ? order(a, b) * (down ? -1 : 1) : 0) || a - b)
    .map((at) => rows[at]);
}

function drawAll() {
  if (window.matchMedia("print").matches) return;  // a printer asks for the light theme; the style sheet gives it
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  document.querySelectorAll("[data-panel]").forEach(drawPanel);
}

// A browser opens what is folded around the target of a link, but not every browser does.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  target?.scrollIntoView?.();
}

// A printer cannot unfold. The style sheet shows what is folded, but a plot gets its width only from an open fold.
function unfoldAll() {
  for (const fold of document.querySelectorAll("main details:not([open])")) {
    fold.open = true;
    fold.dataset.printed = "";
  }
  window.dispatchEvent(new Event("resize"));
}

function foldAgain() {
  for (const fold of document.querySelectorAll("details[data-printed]")) {
    fold.open = false;
    delete fold.dataset.printed;
  }
}

for (const key of document.querySelectorAll("[data-values]")) {
  key.addEventListener("click", () => {
    key.ariaPressed = String(key.ariaPressed !== "true");
    switchOff(key.closest("section"));
  });
}
for (const tool of document.querySelectorAll("[data-zoom], [data-move]")) {
  tool.addEventListener("click", () => zoomFigure(tool.closest("section"), tool.dataset));
}
for (const fold of document.querySelectorAll("details")) {
  fold.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")));  // plots take their width from it
}
document.querySelectorAll("[data-axis]").forEach(zoomAfterClick);
document.querySelectorAll("main table:not([data-sorted])").forEach(sortable);
window.addEventListener("hashchange", unfold);
window.addEventListener("beforeprint", unfoldAll);
window.addEventListener("afterprint", foldAgain);
dark.addEventListener("change", drawAll);
drawAll();
unfold();
