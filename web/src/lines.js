// Lines to paste in a router, for the gateway that is shown.

import { byId, el } from "./elements.js";
import { copied } from "./share.js";

/** @import { Recipe } from "./types" */

/** @type {Record<string, string>} */
const ROUTERS = { openwrt: "OpenWrt, with SQM", tc: "Linux, with tc", gateway: "Linux, with gamelane's own gateway" };

export class Lines {
  #router = /** @type {HTMLSelectElement} */ (byId("router"));
  #copy = /** @type {HTMLButtonElement} */ (byId("copy-lines"));
  #box = byId("lines-box");
  /** @type {Recipe[]} */
  #recipes = [];

  constructor() {
    this.#router.replaceChildren(...Object.keys(ROUTERS).map((value) => el("option", { value }, ROUTERS[value])));
    this.#router.addEventListener("change", () => this.#draw());
    this.#copy.addEventListener("click", async () => {
      const text = byId("lines").textContent ?? "";
      const isCopied = await copied(text);
      // Others may be there by now.
      if (byId("lines").textContent !== text) return;
      if (!isCopied) getSelection()?.selectAllChildren(byId("lines"));
      byId("lines-said").textContent = isCopied ? "Copied." : "The lines are selected: copy them now.";
    });
  }

  /**
   * @param {string} gateway whose lines they are
   * @param {Recipe[]} recipes none if there is no gateway to set up
   */
  show(gateway, recipes) {
    this.#recipes = recipes;
    byId("lines-title").textContent = recipes.length ? `Lines for your router: ${gateway}` : "Lines for your router";
    byId("no-lines").hidden = recipes.length > 0;
    this.#box.hidden = recipes.length === 0;
    this.#box.classList.remove("old");
    this.#box.ariaBusy = "false";
    for (const option of this.#router.options) option.text = ROUTERS[option.value] + (this.#of(option.value)?.text ? "" : " (no lines)");
    this.#draw();
  }

  /** Says that the lines are of an earlier change. */
  wait() {
    this.#box.classList.add("old");
    this.#box.ariaBusy = "true";
    this.#copy.disabled = true;
    byId("lines-said").textContent = "";
  }

  clear() {
    this.show("", []);
    this.wait();
    byId("no-lines").hidden = true;
  }

  /** @param {string} router */
  #of(router) {
    return this.#recipes.find(({ target }) => target === router);
  }

  #draw() {
    const { text = "", unsaid = [] } = this.#of(this.#router.value) ?? {};
    byId("lines").textContent = text;
    for (const id of ["lines", "lines-how"]) byId(id).hidden = !text;
    this.#copy.disabled = !text || this.#box.classList.contains("old");
    byId("lines-said").textContent = "";
    const about = text ? "The lines differ from what was simulated:" : "There are no lines for this router:";
    const reasons = unsaid.length ? [el("p", {}, about), el("ul", {}, ...unsaid.map((reason) => el("li", {}, reason)))] : [];
    if (!text) reasons.push(el("p", {}, "To change the scenario, download it as TOML, edit it, and open it here."));
    byId("lines-unsaid").replaceChildren(...reasons);
  }
}
