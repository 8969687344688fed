// The table below the pictures: how each application fares on each side.

import { el } from "./elements.js";
import { fares, GRADES } from "./fares.js";
import { short } from "./numbers.js";

/** @import { Everything, Result } from "./types" */

const MARKS = ["", "", "▲ ", "✖ "];

/**
 * @param {{ label: string, result: Result }[]} sides that have ended
 * @param {string[]} colours by flow
 * @param {Everything} everything
 */
export function table(sides, colours, everything) {
  const [first] = sides;
  const head = el("tr", {}, el("th", { scope: "col" }, "application"), el("th", { scope: "col" }, "figure"));
  head.append(...sides.map(({ label }) => el("th", { scope: "col" }, label)));
  const body = el("tbody");
  first.result.description.flows.forEach((flow, index) => {
    const each = sides.map(({ result }) => fares(result, index, everything));
    each[0].forEach((fare, place) => {
      if (fare.heading === "lost" && place > 0 && each.every((found) => (found.find(({ heading }) => heading === "lost")?.value ?? 0) < 0.1)) return;
      const swatch = el("span", { class: "swatch", style: `background: var(--${colours[index]})` });
      const row = el("tr");
      row.append(el("th", { scope: "row" }, ...(place === 0 ? [swatch, flow.name] : [])), el("td", { class: "text" }, `${fare.heading}, ${fare.unit}`));
      row.append(...each.map((found) => cell(found.find(({ heading }) => heading === fare.heading))));
      body.append(row);
    });
  });
  return el("table", {}, el("caption", {}, `${MARKS[2]}${GRADES[2]}, ${MARKS[3]}${GRADES[3]}`), el("thead", {}, head), body);
}

/** @param {import("./fares").Fare | undefined} fare */
function cell(fare) {
  if (!fare) return el("td", {}, "–");
  const graded = fare.grade === null ? "" : GRADES[fare.grade];
  return el("td", graded ? { class: graded } : {}, `${MARKS[fare.grade ?? 0]}${short(fare.value)}`);
}
