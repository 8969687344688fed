// Five steps from "my game lags" to what to do about it. Each step sets the page and says what to look at.

import { byId, el } from "./elements.js";
import { FIRST, NOTHING, OWN } from "./state.js";

/** @import { Page } from "./page" */
/** @import { State } from "./state" */

const APPS = ["valorant", "photos-upload"];

/** @type {{ title: string, text: string, look: string, state: State }[]} */
const STEPS = [
  {
    title: "A game alone is fine",
    text: "One person plays, and nobody else uses the line. No packet waits. The line below shows the round trip: flat, and below the green dashes, which is what players call good.",
    look: "strip",
    state: { ...FIRST, apps: ["valorant"], b: NOTHING },
  },
  {
    title: "Then somebody uploads photos",
    text: "After 10 seconds the upload fills the line. Its packets wait in front of it, in the modem, and the packets of the game, the larger squares, wait among 150 of them.",
    look: "side-a",
    state: { ...FIRST, apps: APPS, b: NOTHING },
  },
  {
    title: "This is how it feels",
    text: "Try to hit the target. Each shot is a packet that waits among the photos. It counts where the target is when it arrives at the server, a fifth of a second later.",
    look: "feel",
    state: { ...FIRST, apps: APPS, b: NOTHING },
  },
  {
    title: "A better queue helps",
    text: "The blue line is the same household with another router. It sends a little slower than the line, so that packets wait in the router and not in the modem. There, FQ-CoDel gives each application its turn. The upload loses a tenth of its rate.",
    look: "strip",
    state: { ...FIRST, apps: APPS, b: "fq-codel" },
  },
  {
    title: "Do it at home",
    text: "CAKE does the same, and is fair to people, too. Here are the lines to paste in your router. Their rates follow from the line, so set the line to yours first.",
    look: "take",
    state: FIRST,
  },
];
/** When the upload has filled the buffer. */
const BEGIN_S = 20;

export class Tour {
  #card = byId("tour");
  /** @type {{ focus: HTMLElement, state: State } | null} What was there before. */
  #before = null;

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.#card.hidden) this.#leave();
    });
  }

  open() {
    this.#before = { focus: /** @type {HTMLElement} */ (document.activeElement), state: this.page.state };
    this.#card.hidden = false;
    document.body.classList.add("touring");
    this.#go(0);
  }

  /** Ends the tour and brings back what was there before it. */
  #leave() {
    const before = this.#before?.state;
    this.#close();
    if (before) this.page.change(before);
  }

  /** Ends the tour at the lines for a router. */
  #end() {
    this.#close();
    byId("lines-title").focus({ preventScroll: true });
  }

  /** The person's own home, if there was one. */
  get #own() {
    const before = this.#before?.state;
    return before?.start === OWN ? before : FIRST;
  }

  #close() {
    this.#card.hidden = true;
    document.body.classList.remove("touring");
    document.querySelector(".looked-at")?.classList.remove("looked-at");
    this.page.playback.clock.stop();
    this.#before?.focus.focus({ preventScroll: true });
  }

  /** @param {number} step */
  #go(step) {
    const { title, text, look, state } = STEPS[step];
    const isLast = step === STEPS.length - 1;
    this.page.change(isLast ? { ...this.#own, b: "cake" } : state);
    this.page.playback.from(BEGIN_S);
    document.querySelector(".looked-at")?.classList.remove("looked-at");
    const place = byId(look);
    place.classList.add("looked-at");
    scrollTo(place);
    // What stands above it may have grown.
    this.page.settled.then(() => place.classList.contains("looked-at") && scrollTo(place));
    const heading = el("h2", { tabindex: -1 }, `${step + 1} of ${STEPS.length}: ${title}`);
    const buttons = el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", disabled: step === 0, click: () => this.#go(step - 1) }, "Back"),
      el("button", { type: "button", class: "primary", click: () => (isLast ? this.#end() : this.#go(step + 1)) }, isLast ? "Done" : "Next"),
    );
    if (!isLast) buttons.append(el("button", { type: "button", click: () => this.#leave() }, "Leave the tour"));
    this.#card.replaceChildren(heading, el("p", {}, text), buttons);
    heading.focus({ preventScroll: true });
  }
}

/** @param {HTMLElement} place */
function scrollTo(place) {
  place.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}
