// Five steps from "my game lags" to what to do about it. Each step sets the page and says what to look at.

import { byId, el } from "./elements.js";
import { AS_IS, FIRST, NOTHING, OWN } from "./state.js";

/** @import { State } from "./state" */

/** @type {{ title: string, text: string, look: string, state: State, time: number }[]} */
const STEPS = [
  {
    title: "A game alone is fine",
    text: "One person plays, and nobody else uses the line. Each packet of the game is on its way at once. The strip shows the round trip: flat, and below the line of what players call good.",
    look: "strip",
    state: { ...FIRST, start: OWN, apps: ["valorant"], a: AS_IS, b: NOTHING },
    time: 20,
  },
  {
    title: "Then somebody uploads photos",
    text: "After 10 seconds the upload fills the line. Its packets wait in the modem, and the packets of the game, in black or white, wait behind hundreds of them. Play a round at the target: this is how the lag feels.",
    look: "house-a",
    state: { ...FIRST, start: OWN, apps: ["valorant", "photos-upload"], a: AS_IS, b: NOTHING },
    time: 20,
  },
  {
    title: "A faster line does not help",
    text: "Here the line is twice as fast upstream. The upload takes all of it again and fills the same buffer. The game waits half as long as before, and still far too long.",
    look: "strip",
    state: { ...FIRST, start: OWN, apps: ["valorant", "photos-upload"], up: 20, a: AS_IS, b: NOTHING },
    time: 20,
  },
  {
    title: "A better queue does",
    text: "On the right side the router shapes to 90 % of the line, so the queue moves from the modem into the router. There FQ-CoDel gives each flow a turn. The game never waits behind the upload, and the upload loses a tenth.",
    look: "strip",
    state: { ...FIRST, start: OWN, apps: ["valorant", "photos-upload"], a: AS_IS, b: "fq-codel" },
    time: 20,
  },
  {
    title: "Do it at home",
    text: "CAKE does the same and is fair to hosts, too. Below the table are the scenario and the commands that turn it into lines for your router. Change the line to yours, and add what your household does.",
    look: "take",
    state: { ...FIRST, start: OWN, a: AS_IS, b: "cake" },
    time: 20,
  },
];

export class Tour {
  #card = byId("tour");
  /** @type {HTMLElement | null} */
  #before = null;

  /** @param {(state: State, time: number) => void} set */
  constructor(set) {
    this.set = set;
    this.#card.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  open() {
    this.#before = /** @type {HTMLElement} */ (document.activeElement);
    this.#card.hidden = false;
    this.#go(0);
  }

  close() {
    this.#card.hidden = true;
    document.querySelector(".looked-at")?.classList.remove("looked-at");
    this.#before?.focus();
  }

  /** @param {number} step */
  #go(step) {
    const { title, text, look, state, time } = STEPS[step];
    this.set(state, time);
    document.querySelector(".looked-at")?.classList.remove("looked-at");
    const place = byId(look);
    place.classList.add("looked-at");
    place.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    const heading = el("h2", { tabindex: -1 }, `${step + 1} of ${STEPS.length}: ${title}`);
    const isLast = step === STEPS.length - 1;
    const buttons = el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", disabled: step === 0, click: () => this.#go(step - 1) }, "Back"),
      el("button", { type: "button", class: "primary", click: () => (isLast ? this.close() : this.#go(step + 1)) }, isLast ? "Done" : "Next"),
      el("button", { type: "button", click: () => this.close() }, "Leave the tour"),
    );
    this.#card.replaceChildren(heading, el("p", {}, text), buttons);
    heading.focus({ preventScroll: true });
  }
}
