// The numbers of the run, and the badge with backend and adapter.

/** @import { Store } from "../store.js" */

import { byId, setText } from "./dom.js";
import * as format from "./format.js";
import * as texts from "./texts.js";

const STEPS_BEFORE_ETA = 5;

/** @param {Store} store */
function rates({ run, model }) {
  const perStep = run.msPerStep ?? run.firstStepMs;
  const isUnderWay = run.step >= STEPS_BEFORE_ETA && run.step < run.goal;
  if (perStep === null || model === null) {
    return { perStep, perSecond: format.NONE, etaMs: null };
  }
  const tokens = model.config.batch_size * model.config.block_size;
  return {
    perStep,
    perSecond: format.magnitude((tokens * 1000) / perStep),
    etaMs: isUnderWay ? (run.goal - run.step) * perStep : null,
  };
}

/** @param {Store} store */
export function mountMetrics(store) {
  function draw() {
    const { run } = store;
    const { perStep, perSecond, etaMs } = rates(store);
    setText(byId("step"), String(run.step));
    setText(byId("goal"), run.goal ? `of ${format.count(run.goal)}` : "");
    setText(byId("loss"), format.loss(run.losses.at(-1)));
    setText(byId("val-loss"), format.loss(run.valLosses.at(-1)));
    setText(byId("lr-now"), format.rate(run.lr));
    setText(byId("grad-norm"), format.three(run.gradNorms.at(-1)));
    setText(byId("step-ms"), format.three(perStep));
    setText(byId("tok-per-s"), perSecond);
    setText(byId("eta"), format.duration(etaMs));
    setText(byId("elapsed"), format.duration(run.step ? run.trainedMs : null));
  }

  store.subscribe(["steps", "run", "state"], draw);
  store.subscribe(["run", "boot", "state"], () => drawBadge(store));
}

/**
 * The backend of the model at hand, or the one that auto would take.
 *
 * @param {Store} store
 */
function present({ model, facts }) {
  if (model) {
    return { name: model.backend, adapter: model.adapter, why: model.why };
  }
  const { backend, reason } = facts?.auto ?? { backend: "", reason: "" };
  return { name: backend, adapter: facts?.found[backend]?.adapter ?? "", why: reason };
}

/** @param {Store} store */
function drawBadge(store) {
  const { facts } = store;
  const { name, adapter, why } = present(store);
  setText(byId("backend"), texts.BACKEND[name] ?? format.NONE);
  setText(byId("adapter"), adapter);
  byId("software").hidden = !facts?.found[name]?.software;
  setText(byId("backend-why"), why ? `Why: ${why}` : "");
  setText(byId("isolation"), facts ? texts.isolation(facts) : "");
}
