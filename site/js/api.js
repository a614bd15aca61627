// window.tabgrad: what scripts and tests use, and what the page's own buttons call.
// docs/automation.md describes it.

/** @import { CorpusRequest } from "./engine.js" */
/** @import { BenchmarkRow, Facts, KernelReport } from "./protocol.js" */
/** @import { Store } from "./store.js" */

import { Engine } from "./engine.js";

/**
 * @typedef {{
 *   preset?: string, config?: Record<string, any>, steps?: number, seed?: number,
 *   eval_every?: number, corpus?: CorpusRequest, tokenizer?: string, backend?: string,
 *   kernels?: "auto" | "base" | Record<string, string>, plan?: "fused" | "plain",
 *   threads?: number, build?: import("./players/wasm_memory.js").Build,
 *   tile?: "4x8" | "6x8" | "4x16"
 * }} RunRequest  threads, build and tile are the CPU engine's
 *
 * @typedef {{
 *   prompt?: string, max_tokens?: number, temperature?: number, top_k?: number,
 *   seed?: number
 * } & RunRequest} SampleRequest  the keys of a run describe an untrained model
 */

export class Api {
  /** @type {Store} */
  #store;
  /** @type {Engine} */
  #engine;

  /** @param {Store} store */
  constructor(store) {
    this.#store = store;
    this.#engine = new Engine(store);
    /** Resolves when the engine has loaded, with what this browser can do. */
    this.ready = this.#engine.booted.then(described);
  }

  /** Start the engine; again after a failure. */
  start() {
    this.#engine.start();
  }

  /**
   * Train a new model; resolves at the end of the run, also after `stop()`.
   *
   * @param {RunRequest} [request]
   */
  async train(request = {}) {
    return this.#run(request);
  }

  /**
   * @param {RunRequest} request
   * @param {number} [pauseAfter] steps
   */
  async #run(request, pauseAfter) {
    const store = this.#store;
    await this.#leaveQueue();
    const before = store.run;
    store.setState("training");
    try {
      const wanted = await this.#engine.withCorpusId(request);
      if (store.state !== "training") {
        throw this.#engine.stoppedEarly();
      }
      const pause = pauseAfter === undefined ? {} : { pause_after: pauseAfter };
      const result = await this.#engine.call("train", { ...wanted, ...pause });
      store.endRun("idle");
      return result;
    } catch (error) {
      const { code } = /** @type {any} */ (error);
      if (store.isBusy()) {
        store.endRun(code === "TAB-STOPPED" ? "idle" : "error");
      } // else the worker is gone, and a fresh one loads
      const losses = store.run === before ? [] : store.run.losses;
      throw Object.assign(/** @type {Error} */ (error), { losses });
    }
  }

  /** Wait until the engine has loaded: a run asked for before then begins then. */
  async #leaveQueue() {
    const store = this.#store;
    if (store.isBusy() || store.isQueued) {
      throw this.#engine.busy("cannot start a run: one is under way; stop it first");
    }
    store.setQueued(true);
    await this.#engine.booted;
    const wasQueued = store.isQueued;
    store.setQueued(false);
    if (!wasQueued) {
      throw this.#engine.stoppedEarly();
    }
  }

  /** Pause after the steps that are under way. */
  async pause() {
    if (this.#store.state === "training") {
      this.#store.setState("pausing");
      await this.#engine.call("pause");
    }
  }

  /** Go on after a pause, to the end of the run. */
  async resume() {
    if (this.#store.state !== "paused") {
      throw this.#engine.busy("cannot go on: no run is paused; start one with Train");
    }
    this.#store.setState("training");
    await this.#engine.call("resume");
  }

  /**
   * Take exactly one step, then pause; without a paused run, begin one.
   *
   * @param {RunRequest} [request] of the run that begins
   */
  async step(request = {}) {
    if (this.#store.state !== "paused") {
      return this.#run(request, 1);
    }
    this.#store.setState("training");
    return this.#engine.call("resume", { n_steps: 1 });
  }

  /** End the run, the sample and the benchmark that are under way. */
  async stop() {
    if (this.#store.isQueued) {
      this.#store.setQueued(false);
      return;
    }
    if (this.#store.isBusy()) {
      this.#store.setState("stopping");
    }
    await this.#engine.call("stop");
  }

  /**
   * Continue a prompt with the present model, or an untrained one.
   *
   * @param {SampleRequest} [request]
   */
  async sample(request = {}) {
    this.#engine.check(request);
    const { prompt = "", ...rest } = request;
    const store = this.#store;
    if (store.sample.isRunning) {
      const message = "cannot sample: a sample is being written; cancel it first";
      throw this.#engine.busy(message);
    }
    store.beginSample(prompt);
    try {
      const wanted = await this.#engine.withCorpusId(rest);
      const result = await this.#engine.call("sample", { prompt, ...wanted });
      store.sample.text = result.text;
      return result;
    } finally {
      store.endSample();
    }
  }

  /** End the sample that is being written. */
  async stopSample() {
    await this.#engine.call("stop_sample");
  }

  /**
   * @param {{text?: string} & RunRequest} [request]
   * @returns {Promise<Float32Array>} one for each token of the vocabulary
   */
  async logits(request = {}) {
    const wanted = await this.#engine.withCorpusId(request);
    return Float32Array.from(await this.#engine.call("logits", wanted));
  }

  /** @param {RunRequest} [request] */
  async plan(request = {}) {
    return this.#engine.call("plan", await this.#engine.withCorpusId(request));
  }

  /**
   * Time the same steps on each backend.
   *
   * @param {{n_steps?: number, backends?: string[]} & RunRequest} [request]
   * @returns {Promise<BenchmarkRow[]>}
   */
  async benchmark(request = {}) {
    const store = this.#store;
    if (store.benchmark.isRunning) {
      const message = "a benchmark is under way; cancel it or wait for its end";
      throw this.#engine.busy(message);
    }
    if (store.isBusy() || store.isQueued) {
      throw this.#engine.busy("cannot measure: a run is under way; stop it first");
    }
    store.beginBenchmark();
    try {
      const wanted = await this.#engine.withCorpusId(request);
      return await this.#engine.call("benchmark", wanted);
    } finally {
      store.endBenchmark();
    }
  }

  /**
   * Hold a backend to the references, op by op.
   *
   * @param {{backend?: string, ops?: string[], all?: boolean}} [request]
   */
  async selftest(request = {}) {
    return this.#engine.call("self_test", request);
  }

  /**
   * How WebGPU's kernels were tuned on this device.
   *
   * @returns {Promise<KernelReport>}
   */
  async kernels() {
    return this.#engine.call("kernels");
  }

  /**
   * Measure for the bench page: the GPU's peaks, the rows of a product, the calls of a
   * training step; a product, also by each tile, and the calls of a step on the CPU
   * engine; or a run in the setting that benchmark pages of other systems share.
   *
   * @param {{
   *   what: "peaks" | "matmul" | "ops" | "rows" | "lab" | "peer" | "cpu_matmul" |
   *     "cpu_tiles" | "cpu_ops" | "cpu_draw",
   *   op?: string, size?: number, warm_up?: number
   * } & RunRequest} request
   * @returns {Promise<any>}
   */
  async measure(request) {
    return this.#engine.call("measure", await this.#engine.withCorpusId(request));
  }

  /** End the tuning under way: what is left takes the base kernels this time. */
  async skipTuning() {
    await this.#engine.call("skip_tuning");
  }

  /** Forget what was tuned, so that the next run tunes anew. */
  async forgetKernels() {
    await this.#engine.call("forget_kernels");
  }

  /**
   * The validator's messages by field, and the plan where there are none.
   *
   * @param {RunRequest} request
   */
  async validate(request) {
    const {
      kernels: _,
      threads: __,
      build: ___,
      tile: ____,
      ...wanted
    } = await this.#engine.withCorpusId(request);
    return this.#engine.call("validate", wanted);
  }
}

/** @param {Facts} facts */
function described(facts) {
  const { names, found, ...rest } = facts;
  const adapter = found.webgpu?.adapter ?? null;
  return { ...rest, backends: names, adapter, adapters: found };
}
