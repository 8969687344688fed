// Draws the plots over time of an analyzed capture. All plots of a capture show the same time when one of them is zoomed.
const { timelines, flows } = JSON.parse(document.getElementById("over-time").textContent);
const zoomed = new Map();  // the time shown of each capture; none: all of it
const drawn = new Map();  // place: its view and capture
const latest = new Map();  // place: what it shall show
let turn = Promise.resolve();
const STEP = 0.6;
const AXIS = 62;  // pixels beside the plots: the y axis and padding

function fill(place) {
  const { view } = drawn.get(place);
  view.signal("width", Math.max(place.clientWidth - AXIS, 100)).runAsync();
}

function show(capture, shown) {
  zoomed.set(capture, shown);
  for (const other of drawn.values()) {
    if (other.capture === capture && String(other.view.signal("zoom_t")) !== String(shown)) {
      other.view.signal("zoom_t", shown).runAsync();
    }
  }
}

// One drawing at a time: a reader who goes through the list with the arrow keys is faster than they are.
function drawOverTime(place, wanted) {
  latest.set(place, wanted);
  turn = turn.then(() => latest.get(place) === wanted && replace(place, wanted));
}

async function replace(place, { capture, spec }) {
  drawn.get(place)?.view.finalize();
  drawn.delete(place);
  try {
    const view = await embed(place, spec);
    drawn.set(place, { view, capture });
    view.addSignalListener("zoom_t", (_, shown) => show(capture, shown));
    fill(place);
    if (zoomed.get(capture)) view.signal("zoom_t", zoomed.get(capture)).runAsync();
  } catch (error) {
    place.textContent = `This plot could not be drawn: ${error.message}`;
  }
}

function drawAllOverTime() {
  document.querySelectorAll("[data-timeline]").forEach((place, number) => drawOverTime(place, timelines[number]));
  if (pick) drawOverTime(plots, flows[pick.value]);
}

// Zooms by a factor around the middle; without a factor it shows everything.
function zoom(factor) {
  if (!drawn.has(plots)) return;
  const { view, capture } = drawn.get(plots);
  const [from, to] = view.signal("zoom_t") ?? view.scale("panel0_x").domain();
  const half = (to - from) * factor / 2;
  show(capture, factor ? [(from + to) / 2 - half, (from + to) / 2 + half] : null);
}

const pick = document.getElementById("pick");
const plots = document.getElementById("plots-of-flow");
pick?.addEventListener("change", () => drawOverTime(plots, flows[pick.value]));
for (const [name, factor] of [["zoom-in", STEP], ["zoom-out", 1 / STEP], ["zoom-all", 0]]) {
  document.getElementById(name)?.addEventListener("click", () => zoom(factor));
}
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) if (drawn.has(target)) fill(target);
});
for (const place of document.querySelectorAll(".over-time")) {
  zoomAfterClick(place);
  widths.observe(place);
}
dark.addEventListener("change", drawAllOverTime);
drawAllOverTime();
