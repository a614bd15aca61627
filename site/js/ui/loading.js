// The loading card: one bar over all files, a row for each, the boot watchdog.

/** @import { Api } from "../api.js" */
/** @import { Store } from "../store.js" */

import { byId, element, onPress, setText } from "./dom.js";
import { size } from "./format.js";
import * as texts from "./texts.js";

const STALL_MS = 20_000;

/** @param {string} path */
function fileName(path) {
  return texts.FILES.find(([pattern]) => pattern.test(path))?.[1] ?? path;
}

/**
 * @param {Store} store
 * @param {Api} api
 */
export function mountLoading(store, api) {
  const card = byId("loading");
  const bar = byId("loading-bar");
  const fill = byId("loading-fill");
  const retry = byId("retry");
  /** @type {Map<string, HTMLElement>} */
  const rows = new Map();
  let timer = 0;

  function pending() {
    const files = [...store.boot.files];
    const open = files.find(([, file]) => file.isAsked && file.done < file.total);
    return open?.[0] ?? texts.STAGE[store.boot.stage];
  }

  function watch() {
    clearTimeout(timer);
    if (store.state === "booting" && !store.bootFault) {
      timer = setTimeout(() => {
        const fault = { code: "TAB-STALL", message: texts.stalled(pending()) };
        store.failBoot(fault);
      }, STALL_MS);
    }
  }

  function drawRows() {
    for (const [path, { done, total }] of store.boot.files) {
      let row = rows.get(path);
      if (!row) {
        row = element("li", {}, [
          element("span"),
          element("span", { class: "number" }),
        ]);
        rows.set(path, row);
        byId("loading-files").append(row);
      }
      const [name, amount] = /** @type {HTMLElement[]} */ ([...row.children]);
      setText(name, fileName(path));
      setText(amount, done >= total ? size(total) : `${size(done)} of ${size(total)}`);
      row.classList.toggle("done", done >= total);
    }
  }

  function draw() {
    const files = [...store.boot.files.values()];
    const total = files.reduce((sum, file) => sum + file.total, 0);
    const done = files.reduce((sum, file) => sum + Math.min(file.done, file.total), 0);
    const percent = total ? Math.floor((100 * done) / total) : 0;
    card.hidden = store.state !== "booting";
    bar.setAttribute("aria-valuenow", String(percent));
    bar.setAttribute("aria-valuetext", `${size(done)} of ${size(total)}`);
    fill.style.setProperty("width", `${percent}%`);
    setText(byId("loading-stage"), texts.STAGE[store.boot.stage]);
    setText(byId("loading-amount"), total ? `${size(done)} of ${size(total)}` : "");
    drawRows();
    const fault = store.bootFault;
    byId("loading-fault").hidden = !fault;
    setText(
      byId("loading-fault-text"),
      fault ? `${fault.message}. (${fault.code})` : "",
    );
    card.classList.toggle("failed", fault !== null);
  }

  onPress(retry, async () => api.start());
  store.subscribe(["boot", "state"], draw);
  store.subscribe(["boot"], watch);
}
