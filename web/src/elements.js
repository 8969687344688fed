// Makes elements: el("p", { class: "note" }, "text", other).

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [with_] attributes; functions are listeners
 * @param {(Node | string)[]} inside
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, with_ = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(with_)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, String(value));
  }
  made.append(...inside);
  return made;
}

/**
 * An element of the page that must be there.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page lacks #${id}`);
  return /** @type {T} */ (found);
}
