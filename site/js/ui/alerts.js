// Errors, in words: what happened and what to do, what was kept. They stay until dismissed.

/** @import { Fault } from "../protocol.js" */
/** @import { Store } from "../store.js" */

import { copy } from "./clipboard.js";
import { byId, element } from "./dom.js";

/** @param {string} text */
function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/**
 * @param {Fault} fault
 * @param {Store} store
 */
function alertOf(fault, store) {
  const dismiss = element("button", { type: "button", class: "quiet" }, ["Dismiss"]);
  dismiss.addEventListener("click", () => store.dismiss(fault));
  const tell = element("button", { type: "button", class: "quiet" }, ["Copy details"]);
  tell.addEventListener("click", () => copyDetails(fault, store, tell));
  return element("div", { class: "alert", "data-code": fault.code }, [
    element("p", { class: "alert-message" }, [sentence(fault.message)]),
    ...(fault.kept ? [element("p", {}, [fault.kept])] : []),
    element("p", { class: "alert-actions" }, [
      element("code", {}, [fault.code]),
      tell,
      dismiss,
    ]),
  ]);
}

/**
 * @param {Fault} fault
 * @param {Store} store
 * @param {HTMLElement} button
 */
async function copyDetails(fault, store, button) {
  const { code, message, kept, detail } = fault;
  const { facts, model } = store;
  const details = { code, message, kept, detail, facts, model };
  const browser = navigator.userAgent;
  button.textContent = await copy(JSON.stringify({ ...details, browser }, null, 1));
}

/** @param {Store} store */
export function mountAlerts(store) {
  const region = byId("alerts");
  /** @type {Map<Fault, HTMLElement>} */
  const shown = new Map();
  store.subscribe(["faults"], () => {
    for (const [fault, card] of shown) {
      if (!store.faults.includes(fault)) {
        card.remove();
        shown.delete(fault);
      }
    }
    for (const fault of store.faults) {
      if (!shown.has(fault)) {
        shown.set(fault, alertOf(fault, store));
        region.append(/** @type {HTMLElement} */ (shown.get(fault)));
      }
    }
  });
}
