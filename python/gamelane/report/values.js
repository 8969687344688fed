// Reads the values of a plot by keyboard. Left and right go along a line, up and down to another line; Escape ends. A tooltip
// shows the value, as under a pointer, and a screen reader says it.
const said = document.body.appendChild(document.createElement("p"));
said.className = "said";
said.setAttribute("role", "status");
const KEYS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function readByKeys(place, view) {
  const mark = place.querySelector(":scope > .reading") ?? place.appendChild(document.createElement("span"));
  mark.className = "reading";
  mark.hidden = true;
  if (readable(view).length === 0) return;
  Object.assign(place, { tabIndex: 0, role: "application", ariaRoleDescription: "plot; arrow keys read its values" });
  let line = 0, at = -1;
  place.onkeydown = (event) => {
    const lines = readable(view);
    if (event.key === "Escape") place.onblur();
    const turn = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (lines.length === 0 || event.ctrlKey || event.altKey || event.metaKey || !(KEYS[event.key] || (turn && at >= 0))) return;
    event.preventDefault();
    const before = lines[line]?.[at];
    line = Math.min(Math.max(line + turn, 0), lines.length - 1);
    const next = turn ? nearest(lines[line], before?.x ?? 0) : at + KEYS[event.key];
    at = Math.min(Math.max(next, 0), lines[line].length - 1);
    tell(place, view, mark, lines[line][at].item);
  };
  place.onblur = () => {
    mark.hidden = true;
    said.textContent = "";
    at = -1;
    view.tooltip()(null, null, null, null);
  };
}

// A pointer meets the cell around a point. Vega-Lite writes "undefined" for the words in the tooltip of a cell; that of the
// point is right.
function nameWords(spec) {
  for (const mark of spec.marks ?? []) {
    if (mark.name?.endsWith("_voronoi") && mark.encode.update.tooltip) mark.encode.update.tooltip = { signal: "datum.tooltip" };
    nameWords(mark);
  }
  return spec;
}

// Items with a tooltip that are on screen, by line, from left to right. Marks of one item each, such as bars, are one line.
function readable(view) {
  const lines = [];
  (function visit(mark) {
    const own = new Map();
    for (const item of mark.items) {
      if (mark.marktype === "group") for (const inner of item.items) visit(inner);
      else if (item.tooltip && !item.isVoronoi) {
        const { x } = middle(item);
        const colour = item.fill && item.fill !== "transparent" ? item.fill : item.stroke;
        if (x >= -1 && x <= view.width() + 1) own.set(colour, [...(own.get(colour) ?? []), { x, item }]);
      }
    }
    const found = [...own.values()];
    lines.push(...(found.every(({ length }) => length === 1) && found.length ? [found.flat()] : found));
  })(view.scenegraph().root);
  return lines.map((line) => line.sort((a, b) => a.x - b.x));
}

function middle({ bounds: { x1, x2, y1, y2 }, mark }) {
  let [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
  for (let group = mark.group; group; group = group.mark?.group) [x, y] = [x + (group.x ?? 0), y + (group.y ?? 0)];
  return { x, y };
}

function nearest(line, x) {
  return line.reduce((best, point, at) => (Math.abs(point.x - x) < Math.abs(line[best].x - x) ? at : best), 0);
}

function tell(place, view, mark, item) {
  const { x, y } = middle(item);
  const [left, top] = view.origin();
  const padding = view.padding();
  const canvas = place.querySelector("canvas").getBoundingClientRect();
  const [clientX, clientY] = [canvas.left + padding.left + left + x, canvas.top + padding.top + top + y];
  const own = place.getBoundingClientRect();
  mark.style.left = `${clientX - own.left}px`;
  mark.style.top = `${clientY - own.top}px`;
  mark.hidden = false;
  view.tooltip()(null, { clientX, clientY }, item, item.tooltip);
  said.textContent = Object.entries(item.tooltip).map(([name, value]) => `${name} ${value}`).join(", ");
}
