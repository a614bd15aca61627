// The page's access to the engine: calls wait for it, and what fails is shown.

/** @import { Facts, Fault, Method } from "./protocol.js" */
/** @import { Store } from "./store.js" */

import { Client, TabgradError } from "./client.js";
import { requestFault } from "./request.js";

/**
 * @typedef {string | {text: string, name?: string}} CorpusRequest
 * @typedef {{corpus_id: string, n_bytes: number}} KeptCorpus
 */

export const BUILTIN_CORPUS = "tinyshakespeare";

export class Engine {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    /** @type {WeakMap<object, KeptCorpus>} texts that the worker has */
    this.corpora = new WeakMap();
    /** @type {(facts: Facts) => void} */
    this.isReady = () => undefined;
    this.booted = this.untilReady();
    this.client = new Client(
      (event) => {
        store.take(event);
        if (event.type === "ready") {
          this.isReady(event.facts);
        }
      },
      (what) => this.ended(what),
    );
  }

  /** @returns {Promise<Facts>} */
  untilReady() {
    return new Promise((resolve) => {
      this.isReady = resolve;
    });
  }

  /**
   * Show that the worker is of no use any more. One that had loaded is replaced.
   *
   * @param {string} what
   * @returns {Fault}
   */
  ended(what) {
    const code = "TAB-WORKER";
    if (!this.store.facts) {
      const fault = { code, message: `${what}; press Retry or reload the page` };
      this.store.failBoot(fault);
      return fault;
    }
    const message = `${what}; the engine starts again by itself, then press Train`;
    const kept = this.store.model ? "Kept: the losses so far. The model is gone." : "";
    const error = new TabgradError({ code, message, kept });
    this.booted = this.untilReady();
    this.start();
    return this.shown(error);
  }

  /** Start the engine; again after a failure. */
  start() {
    this.corpora = new WeakMap();
    this.store.beginBoot();
    this.client.start();
  }

  /**
   * Call the engine once it has loaded; what fails is shown on the page, too.
   *
   * @param {Method} method
   * @param {object} [request]
   * @returns {Promise<any>}
   * @throws {TabgradError}
   */
  async call(method, request = {}) {
    this.check(request);
    await this.booted;
    try {
      return await this.client.call(method, request);
    } catch (error) {
      throw this.shown(error);
    }
  }

  /**
   * Refuse what is no request, in words that the page shows, too.
   *
   * @param {unknown} request
   * @throws {TabgradError}
   */
  check(request) {
    const fault = requestFault(request);
    if (fault) {
      throw this.shown(new TabgradError(fault));
    }
  }

  /**
   * Put an error on the page.
   *
   * @param {unknown} error
   * @returns {TabgradError}
   */
  shown(error) {
    const fault =
      error instanceof TabgradError
        ? error
        : new TabgradError({ code: "TAB-BUG", message: String(error) });
    this.store.addFault(fault);
    return fault;
  }

  /**
   * Put a refusal on the page.
   *
   * @param {string} message
   */
  busy(message) {
    return this.shown(new TabgradError({ code: "TAB-BUSY", message }));
  }

  /** A run that was called off; whoever did so knows, and the page need not say it. */
  stoppedEarly() {
    const message = "the run was stopped before it began; start it again with Train";
    return new TabgradError({ code: "TAB-STOPPED", message });
  }

  /**
   * Return a request whose corpus is an id, so that a text crosses to the worker once.
   *
   * @template {{corpus?: CorpusRequest | null}} T
   * @param {T} request
   */
  async withCorpusId(request) {
    this.check(request);
    const { corpus = BUILTIN_CORPUS, ...rest } = request;
    if (typeof corpus === "string" || corpus === null) {
      return { ...rest, corpus };
    }
    return { ...rest, corpus: (await this.kept(corpus)).corpus_id };
  }

  /**
   * @param {{text: string, name?: string}} corpus
   * @returns {Promise<KeptCorpus>}
   */
  async kept(corpus) {
    const { text, name = "text" } = corpus;
    const known = this.corpora.get(corpus);
    if (known) {
      return known;
    }
    const added = await this.call("add_corpus", { text, name: String(name) });
    this.corpora.set(corpus, added);
    return added;
  }
}
