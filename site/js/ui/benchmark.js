// The benchmark: the chosen preset's steps on each backend, in a table and as JSON.

/** @import { Api, RunRequest } from "../api.js" */
/** @import { BenchmarkRow } from "../protocol.js" */
/** @import { Store } from "../store.js" */

import { copy } from "./clipboard.js";
import { allow, byId, element, onPress, setText } from "./dom.js";
import { magnitude, NONE, three } from "./format.js";
import * as texts from "./texts.js";

/**
 * @param {Store} store
 * @param {Api} api
 * @param {{request: () => RunRequest}} form
 */
export function mountBenchmark(store, api, form) {
  const button = byId("benchmark");
  const cancel = byId("benchmark-cancel");
  const asJson = byId("benchmark-copy");
  let measured = {};
  let wasHidden = false;

  byId("benchmark-table").tabIndex = 0; // it scrolls: the keyboard must reach it
  document.addEventListener("visibilitychange", () => {
    wasHidden ||= document.hidden;
  });
  onPress(button, async () => {
    const repeats = /** @type {HTMLInputElement} */ (byId("repeats")).value;
    const { backend: _, eval_every: __, steps: ___, ...wanted } = form.request();
    wasHidden = document.hidden;
    setText(byId("benchmark-note"), "");
    const rows = await api.benchmark({ ...wanted, n_steps: Number(repeats) });
    const { corpus: ____, ...settings } = wanted;
    const { facts } = store;
    measured = {
      version: facts?.version,
      build: facts?.build,
      browser: navigator.userAgent,
      isolated: facts?.isolated,
      threads: facts?.threads,
      ...settings,
      is_comparable: !wasHidden,
      rows,
    };
    const isStopped = rows.length === 0 || rows.some((row) => row.is_stopped);
    const said = [
      wasHidden
        ? "The tab was hidden meanwhile: these numbers are not comparable."
        : "",
      isStopped ? "Cancelled before its end." : "",
    ];
    setText(byId("benchmark-note"), said.join(" ").trim());
  });
  onPress(cancel, () => api.stop());
  onPress(asJson, async () => {
    setText(byId("benchmark-note"), await copy(JSON.stringify(measured, null, 1)));
  });

  store.subscribe(["benchmark", "state", "boot"], () => {
    const { benchmark } = store;
    byId("benchmark-table").hidden = benchmark.rows.length === 0;
    byId("benchmark-rows").replaceChildren(...benchmark.rows.map(rowOf));
    allow(button, whyNot(store));
    allow(cancel, benchmark.isRunning ? null : texts.WHY_NOT.noBenchmark);
    const isDone = !benchmark.isRunning && benchmark.rows.length > 0;
    allow(asJson, isDone ? null : texts.WHY_NOT.noBenchmark);
  });
}

/** @param {Store} store */
function whyNot(store) {
  if (!store.facts) {
    return texts.WHY_NOT.loading;
  }
  if (store.isBusy() || store.isQueued) {
    return texts.WHY_NOT.training;
  }
  return store.benchmark.isRunning ? texts.WHY_NOT.benchmark : null;
}

/** @param {BenchmarkRow} row */
function rowOf(row) {
  const name = texts.BACKEND[row.backend] ?? row.backend;
  const software = row.software ? " (software adapter)" : "";
  const head = element("th", { scope: "row" }, [
    name,
    element("span", { class: "adapter" }, [`${row.adapter ?? ""}${software}`]),
  ]);
  if (row.error) {
    return element("tr", {}, [head, element("td", { colspan: "4" }, [row.error])]);
  }
  const ms = row.ms_per_step;
  const spread = ms?.p25 == null ? NONE : `${three(ms.p25)} – ${three(ms.p75)}`;
  const rate = row.tokens_per_s == null ? NONE : magnitude(row.tokens_per_s);
  const cells = [three(row.first_step_ms), three(ms?.median), spread, rate];
  return element("tr", {}, [head, ...cells.map((text) => element("td", {}, [text]))]);
}
