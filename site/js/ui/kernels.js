// The fold about kernels: which were chosen on this device, how fast, and tuning anew.

/** @import { Api } from "../api.js" */
/** @import { KernelReport, TunedCall } from "../protocol.js" */
/** @import { Store } from "../store.js" */

import { copy } from "./clipboard.js";
import { byId, element, onPress, setText } from "./dom.js";
import { NONE, three } from "./format.js";
import * as texts from "./texts.js";

const US_PER_MS = 1000;

/**
 * @param {Store} store
 * @param {Api} api
 */
export function mountKernels(store, api) {
  const fold = /** @type {HTMLDetailsElement} */ (byId("kernels-fold"));
  const skip = byId("skip-tuning");
  /** @type {KernelReport | null} */
  let report = null;

  async function refresh() {
    if (!fold.open || !store.facts) {
      return;
    }
    report = await api.kernels();
    byId("kernels-scroll").hidden = report.rows.length === 0;
    byId("kernels-rows").replaceChildren(...report.rows.map(rowOf));
    setText(byId("kernels-note"), texts.kernels(report));
  }

  byId("kernels-scroll").tabIndex = 0; // it scrolls: the keyboard must reach it
  fold.addEventListener("toggle", refresh);
  onPress(byId("kernels-forget"), async () => {
    await api.forgetKernels();
    await refresh();
    setText(byId("kernels-note"), texts.TUNES_ANEW);
  });
  onPress(byId("kernels-copy"), async () => {
    report = await api.kernels();
    setText(byId("kernels-note"), await copy(JSON.stringify(report, null, 1)));
  });
  onPress(skip, () => api.skipTuning());
  store.subscribe(["state"], () => {
    const isTuning = store.isBusy() && store.preparing?.what === "tuning";
    skip.hidden = !isTuning;
  });
  store.subscribe(["run", "boot"], refresh);
}

/** @param {TunedCall} call */
function rowOf({ op, sizes, row, ms, refused }) {
  const us = (/** @type {number | undefined} */ time) =>
    time === undefined ? NONE : three(time * US_PER_MS);
  const why = Object.entries(refused).map(([name, reason]) => `${name}: ${reason}`);
  const cells = [sizes, row, us(ms[row]), us(ms.base), why.join("; ") || NONE];
  const head = element("th", { scope: "row" }, [op]);
  return element("tr", {}, [head, ...cells.map((text) => element("td", {}, [text]))]);
}
