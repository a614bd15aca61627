// The page's end of the worker: calls with answers, events, start and restart.

/** @import { Fault, Method, WorkerEvent, WorkerMessage } from "./protocol.js" */

import { checkEvent } from "./protocol.js";

const WORKER_URL = new URL("./worker.js", import.meta.url).href;

/** An error as the page shows it; `code` is stable. */
export class TabgradError extends Error {
  /** @param {Fault} fault */
  constructor(fault) {
    super(fault.message);
    this.name = "TabgradError";
    this.code = fault.code;
    this.kept = fault.kept ?? "";
    this.detail = fault.detail ?? "";
  }
}

/**
 * Return the worker's address as Trusted Types want it, where the browser has them.
 *
 * @returns {string}
 */
function trustedWorkerUrl() {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) {
    return WORKER_URL;
  }
  const policy = types.createPolicy("tabgrad", {
    /** @param {string} url */
    createScriptURL(url) {
      if (url !== WORKER_URL) {
        throw new TypeError(`no script may be loaded from ${url}`);
      }
      return url;
    },
  });
  return policy.createScriptURL(WORKER_URL);
}

export class Client {
  /**
   * @param {(event: WorkerEvent) => void} onEvent takes all but answers
   * @param {(what: string) => Fault} onEnd the worker failed or is gone; gives the error
   *   of the calls under way
   */
  constructor(onEvent, onEnd) {
    this.onEvent = onEvent;
    this.onEnd = onEnd;
    this.url = trustedWorkerUrl();
    this.count = 0;
    /** @type {Map<number, {resolve: (value: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    /** @type {Worker | null} */
    this.worker = null;
    this.isWatched = false;
  }

  /** Start the worker, or end it and start a fresh one. */
  start() {
    this.worker?.terminate();
    const name = `tabgrad ${performance.now()} ${Math.random()}`;
    const worker = new Worker(this.url, { type: "module", name });
    this.worker = worker;
    this.isWatched = false;
    worker.addEventListener("message", (event) => {
      this.watch(worker, name);
      this.take(checkEvent(event.data));
    });
    worker.addEventListener("error", (event) => {
      this.end(worker, `failed: ${event.message ?? "its script did not load"}`);
    });
  }

  /**
   * Wait for the end of a worker, which no event tells of: the lock that it holds as long
   * as it lives is the page's then. Without locks (no secure context) no one notices.
   *
   * @param {Worker} worker
   * @param {string} name of the worker and its lock
   */
  watch(worker, name) {
    if (!this.isWatched) {
      this.isWatched = true;
      const isOver = () => this.end(worker, "is gone, perhaps for want of memory");
      navigator.locks?.request(name, isOver);
    }
  }

  /**
   * Reject what waits for a worker that is of no use any more.
   *
   * @param {Worker} worker
   * @param {string} what happened to it
   */
  end(worker, what) {
    if (worker !== this.worker) {
      return;
    }
    worker.terminate();
    this.worker = null;
    const { waiting } = this;
    this.waiting = new Map();
    const error = new TabgradError(this.onEnd(`the engine's worker ${what}`));
    for (const { reject } of waiting.values()) {
      reject(error);
    }
  }

  /** @param {WorkerMessage} event */
  take(event) {
    if (event.type === "answer") {
      this.settle(event.id)?.resolve(event.value);
    } else if (event.type === "failed") {
      this.settle(event.id)?.reject(new TabgradError(event.fault));
    } else if (event.type === "happened") {
      for (const each of event.events) {
        this.take(checkEvent(each));
      }
    } else {
      this.onEvent(event);
    }
  }

  /** @param {number} id */
  settle(id) {
    const settler = this.waiting.get(id);
    this.waiting.delete(id);
    return settler;
  }

  /**
   * Call a method of the engine.
   *
   * @param {Method} method
   * @param {object} [request]
   * @returns {Promise<any>}
   * @throws {TabgradError}
   */
  call(method, request = {}) {
    if (!this.worker) {
      throw new TypeError("call before start");
    }
    this.count += 1;
    const id = this.count;
    this.worker.postMessage({ type: "call", id, method, request });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
}
