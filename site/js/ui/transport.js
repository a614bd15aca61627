// Train, Pause, Step, Stop and the words about the state.

/** @import { Api, RunRequest } from "../api.js" */
/** @import { Store } from "../store.js" */

import { allow, byId, onPress, setText } from "./dom.js";
import { count, duration } from "./format.js";
import * as texts from "./texts.js";

const ANNOUNCE_MS = 10_000;

/**
 * @param {Store} store
 * @param {Api} api
 * @param {{request: () => RunRequest, fault: () => string | null, onFault:
 *   (draw: () => void) => void}} form
 */
export function mountTransport(store, api, form) {
  const train = byId("train");
  const pause = byId("pause");
  const step = byId("step-button");
  const stop = byId("stop");

  onPress(train, () =>
    store.state === "paused" ? api.resume() : api.train(form.request()),
  );
  onPress(pause, () => api.pause());
  onPress(step, () => api.step(form.request()));
  onPress(stop, () => api.stop());

  function draw() {
    const whyNot = reasons(store, form.fault());
    allow(
      train,
      whyNot.train,
      store.state === "paused" ? texts.HINT.go : texts.HINT.train,
    );
    allow(pause, whyNot.pause, texts.HINT.pause);
    allow(step, whyNot.train, texts.HINT.step);
    allow(stop, whyNot.stop, texts.HINT.stop);
    const status = byId("status");
    setText(status, texts.STATE[store.state]);
    status.dataset.state = store.state;
    setText(byId("status-detail"), detail(store, form.fault()));
  }

  store.subscribe(["state", "run", "steps", "boot", "benchmark"], draw);
  form.onFault(draw);
  mountAnnouncer(store);
}

/**
 * @param {Store} store
 * @param {string | null} fault the form's
 */
function reasons(store, fault) {
  const { state, isQueued } = store;
  const stop = {
    training: null,
    pausing: null,
    paused: null,
    stopping: texts.WHY_NOT.stopping,
    booting: texts.WHY_NOT.noRun,
    idle: texts.WHY_NOT.noRun,
    error: texts.WHY_NOT.noRun,
  }[state];
  return {
    train: whyNotTrain(store, fault),
    pause: state === "training" ? null : texts.WHY_NOT.noRun,
    stop: isQueued ? null : stop,
  };
}

/**
 * @param {Store} store
 * @param {string | null} fault
 * @returns {string | null}
 */
function whyNotTrain({ state, isQueued, benchmark }, fault) {
  const { WHY_NOT } = texts;
  if (isQueued) {
    return WHY_NOT.queued;
  }
  if (state === "paused") {
    return null;
  }
  if (state === "training") {
    return WHY_NOT.run;
  }
  if (state === "pausing" || state === "stopping") {
    return WHY_NOT[state];
  }
  if (benchmark.isRunning) {
    return WHY_NOT.benchmark;
  }
  return fault && texts.cannotTrain(fault);
}

/**
 * @param {Store} store
 * @param {string | null} fault
 * @returns {string} a sentence beside the state
 */
function detail(store, fault) {
  const { state, run } = store;
  if (store.isQueued) {
    return texts.DETAIL.queued;
  }
  switch (state) {
    case "training":
      return run.step > 0 ? "" : preparation(store);
    case "pausing":
      return texts.WHY_NOT.pausing;
    case "error":
      return texts.DETAIL.error;
    case "idle":
      return fault ? texts.cannotTrain(fault) : finished(store);
    default:
      return texts.DETAIL[state];
  }
}

/** @param {Store} store */
function preparation({ preparing }) {
  if (!preparing) {
    return `${texts.DETAIL.preparing}.`;
  }
  const { what, done, total } = preparing;
  const percent = total ? ` ${Math.floor((100 * done) / total)} %` : "";
  return `${texts.DETAIL.preparing}: ${what}${percent}.`;
}

/** @param {Store} store */
function finished({ run }) {
  return run.step > 0
    ? `${count(run.step)} steps in ${duration(run.trainedMs)}.`
    : texts.DETAIL.idle;
}

/**
 * Tell screen readers how the run goes, at most every ten seconds.
 *
 * @param {Store} store
 */
function mountAnnouncer(store) {
  const region = byId("announcer");
  let saidAt = 0;
  let saidState = store.state;
  store.subscribe(["steps", "state"], () => {
    const { run, state } = store;
    const isDue = performance.now() - saidAt >= ANNOUNCE_MS;
    if (state !== saidState) {
      saidState = state;
      setText(region, `${texts.STATE[state]}, step ${run.step}`);
      saidAt = performance.now();
    } else if (state === "training" && isDue && run.step > 0) {
      setText(region, `Step ${run.step}, loss ${run.losses.at(-1)?.toFixed(2)}`);
      saidAt = performance.now();
    }
  });
}
