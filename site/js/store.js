// What the page knows about the engine and the run. Panels subscribe and draw it.
//
//   booting -> idle -> training <-> paused -> stopping -> idle | error

/** @import { BenchmarkRow, Facts, Fault, Model } from "./protocol.js" */
/** @import { Evaluated, ModelEvent, Stage, Steps, WorkerEvent } from "./protocol.js" */

/**
 * @typedef {"booting" | "idle" | "training" | "pausing" | "paused" | "stopping" | "error"}
 *   State  `pausing` lasts until the steps under way are done
 * @typedef {{done: number, total: number, isAsked: boolean}} LoadedFile
 * @typedef {"boot" | "state" | "run" | "steps" | "sample" | "benchmark" | "faults"} Topic
 * @typedef {{
 *   goal: number, step: number, losses: number[], gradNorms: number[], lr: number | null,
 *   valSteps: number[], valLosses: number[], msPerStep: number | null,
 *   trainedMs: number, firstStepMs: number | null
 * }} RunCurves  `trainedMs` leaves out pauses and evaluations
 */

const RATE_MEMORY = 0.8; // weight of the old ms/step in its moving average

/** @returns {RunCurves} */
function emptyRun() {
  return {
    goal: 0,
    step: 0,
    losses: [],
    gradNorms: [],
    lr: null,
    valSteps: [],
    valLosses: [],
    msPerStep: null,
    trainedMs: 0,
    firstStepMs: null,
  };
}

export class Store {
  constructor() {
    /** @type {State} */
    this.state = "booting";
    this.isQueued = false;
    /** @type {Facts | null} */
    this.facts = null;
    /** @type {Model | null} */
    this.model = null;
    this.run = emptyRun();
    /** @type {{stage: Stage["name"], files: Map<string, LoadedFile>}} */
    this.boot = { stage: "fetching", files: new Map() };
    /** @type {Fault | null} */
    this.bootFault = null;
    /** @type {{what: string, done: number, total: number} | null} */
    this.preparing = null;
    this.sample = { isRunning: false, prompt: "", text: "" };
    /** @type {{isRunning: boolean, rows: BenchmarkRow[]}} */
    this.benchmark = { isRunning: false, rows: [] };
    /** @type {Fault[]} */
    this.faults = [];
    /** @type {Map<Topic, Set<() => void>>} */
    this.listeners = new Map();
  }

  /**
   * Call a function now and after each change of the topics.
   *
   * @param {Topic[]} topics
   * @param {() => void} draw
   */
  subscribe(topics, draw) {
    for (const topic of topics) {
      const set = this.listeners.get(topic) ?? new Set();
      set.add(draw);
      this.listeners.set(topic, set);
    }
    draw();
  }

  /** @param {Topic} topic */
  changed(topic) {
    for (const draw of this.listeners.get(topic) ?? []) {
      draw();
    }
  }

  /** @param {State} state */
  setState(state) {
    this.state = state;
    this.changed("state");
  }

  /** @param {State} state after a run */
  endRun(state) {
    this.preparing = null;
    this.setState(state);
  }

  /** @param {boolean} isQueued whether a run begins once the engine has loaded */
  setQueued(isQueued) {
    this.isQueued = isQueued;
    this.changed("state");
  }

  /** The curves of a run before stay; its model went with the engine. */
  beginBoot() {
    this.boot.files.clear();
    this.bootFault = null;
    this.facts = null;
    this.model = null;
    this.endRun("booting");
    this.changed("boot");
  }

  /** @param {string} prompt */
  beginSample(prompt) {
    this.sample = { isRunning: true, prompt, text: "" };
    this.changed("sample");
  }

  endSample() {
    this.sample.isRunning = false;
    this.changed("sample");
  }

  beginBenchmark() {
    this.benchmark = { isRunning: true, rows: [] };
    this.changed("benchmark");
  }

  endBenchmark() {
    this.benchmark.isRunning = false;
    this.changed("benchmark");
  }

  /** @returns {boolean} whether a run is under way */
  isBusy() {
    return ["training", "pausing", "paused", "stopping"].includes(this.state);
  }

  /** @param {Fault} fault in place of one that says the same */
  addFault(fault) {
    const others = this.faults.filter(({ message }) => message !== fault.message);
    this.faults = [...others.slice(-2), fault];
    this.changed("faults");
  }

  /** @param {Fault} fault */
  dismiss(fault) {
    this.faults = this.faults.filter((other) => other !== fault);
    this.changed("faults");
  }

  /**
   * Take what the worker says.
   *
   * @param {WorkerEvent} event
   */
  take(event) {
    switch (event.type) {
      case "files":
        for (const [file, total] of Object.entries(event.bytes)) {
          this.boot.files.set(file, { done: 0, total, isAsked: false });
        }
        return this.changed("boot");
      case "loading":
        this.boot.files.set(event.file, { ...event, isAsked: true });
        return this.changed("boot");
      case "stage":
        this.boot.stage = event.name;
        return this.changed("boot");
      case "ready":
        this.facts = event.facts;
        this.bootFault = null;
        this.setState("idle");
        return this.changed("boot");
      case "boot_failed":
        return this.failBoot(event.fault);
      case "preparing":
        if (this.isBusy() && this.preparing === null) {
          this.run = emptyRun(); // the model of the run before is gone, too
          this.changed("run");
        }
        this.preparing = event;
        return this.changed("state");
      case "model":
        return this.takeModel(event);
      case "steps":
      case "evaluated":
        return this.takeCurves(event);
      case "paused":
        return this.state === "stopping" ? undefined : this.setState("paused");
      case "resumed":
        return undefined; // the page set the state when it asked
      case "tokens":
        this.sample.text += event.text;
        return this.changed("sample");
      case "benchmarked":
        this.benchmark.rows = [...this.benchmark.rows, event.row];
        return this.changed("benchmark");
      case "answer":
      case "failed":
        throw new TypeError(`${event.type} belongs to the client`);
      default: {
        /** @type {never} */
        const rest = event;
        throw new TypeError(`no one takes ${JSON.stringify(rest)}`);
      }
    }
  }

  /** @param {Fault} fault */
  failBoot(fault) {
    this.bootFault = fault;
    this.changed("boot");
  }

  /** @param {ModelEvent} event */
  takeModel(event) {
    this.model = event;
    this.preparing = null;
    if (this.isBusy()) {
      this.run = { ...emptyRun(), goal: event.config.steps };
    }
    this.changed("run");
    this.changed("state");
  }

  /** @param {Steps | Evaluated} event */
  takeCurves(event) {
    const { run } = this;
    if (event.type === "evaluated") {
      run.valSteps.push(event.step);
      run.valLosses.push(event.val_loss);
    } else {
      const ms = (event.seconds * 1000) / event.losses.length;
      if (run.step === 0) {
        run.firstStepMs = ms;
      } else {
        run.msPerStep = run.msPerStep
          ? RATE_MEMORY * run.msPerStep + (1 - RATE_MEMORY) * ms
          : ms;
      }
      run.trainedMs += event.seconds * 1000;
      run.step = event.step;
      run.lr = event.lr;
      run.losses.push(...event.losses);
      run.gradNorms.push(...event.grad_norms);
    }
    this.changed("steps");
  }
}
