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
  /** @param {(event: WorkerEvent) => void} onEvent takes all but answers */
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.url = trustedWorkerUrl();
    this.count = 0;
    /** @type {Map<number, {resolve: (value: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    /** @type {Worker | null} */
    this.worker = null;
  }

  /** Start the worker, or end it and start a fresh one. */
  start() {
    this.worker?.terminate();
    const message = "the engine was started again; what was under way is gone";
    for (const { reject } of this.waiting.values()) {
      reject(new TabgradError({ code: "TAB-RESTART", message }));
    }
    this.waiting.clear();
    this.worker = new Worker(this.url, { type: "module", name: "tabgrad" });
    this.worker.addEventListener("message", (event) =>
      this.take(checkEvent(event.data)),
    );
    this.worker.addEventListener("error", (event) => {
      const message =
        `the engine's worker failed: ${event.message ?? "its script did not load"}; ` +
        "press Retry or reload the page";
      this.onEvent({ type: "boot_failed", fault: { code: "TAB-WORKER", message } });
    });
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
