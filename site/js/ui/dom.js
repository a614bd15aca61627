// Small helpers over the DOM; text goes in as text, never as HTML.

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 * @throws {Error} index.html has no such element
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`index.html has no element #${id}`);
  }
  return /** @type {T} */ (found);
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
export function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/**
 * Set text only where it differs, so that screen readers and layout rest.
 *
 * @param {HTMLElement} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) {
    target.textContent = text;
  }
}

/**
 * Enable a button, or disable it and say why. It stays in the tab order so that the
 * reason can be read.
 *
 * @param {HTMLElement} button
 * @param {string | null} reason why not; null enables
 * @param {string} hint what it does
 */
export function allow(button, reason, hint = "") {
  button.setAttribute("aria-disabled", String(reason !== null));
  button.title = reason ?? hint;
}

/**
 * Run an action on click, unless the button is disabled.
 *
 * @param {HTMLElement} button
 * @param {() => Promise<unknown>} action what fails is already on the page
 */
export function onPress(button, action) {
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") {
      action().then(undefined, keepShown);
    }
  });
}

/** The API has put the error on the page; the console adds it for developers. */
export function keepShown(/** @type {Error} */ error) {
  if (!("code" in error)) {
    throw error;
  }
}
