// Sends the worker's events to the page, joined so that few messages cross.

/** @import { EngineEvent, Steps, WorkerMessage } from "./protocol.js" */

const INTERVAL_MS = 80; // at most 12 flushes a second

/**
 * Join two events of one kind, where the second continues the first.
 *
 * @param {EngineEvent} a
 * @param {EngineEvent} b
 * @returns {EngineEvent | null} null when they must stay two
 */
function joined(a, b) {
  if (a.type === "steps" && b.type === "steps") {
    return {
      ...b,
      losses: [...a.losses, ...b.losses],
      grad_norms: [...a.grad_norms, ...b.grad_norms],
      seconds: a.seconds + b.seconds,
    };
  }
  if (a.type === "tokens" && b.type === "tokens") {
    return { type: "tokens", text: a.text + b.text };
  }
  return a.type === "preparing" && b.type === "preparing" ? b : null;
}

export class Outbox {
  /** @param {(message: WorkerMessage) => void} post */
  constructor(post) {
    this.post = post;
    /** @type {EngineEvent[]} */
    this.waiting = [];
    this.sentAt = 0;
    this.timer = 0;
  }

  /**
   * Send an event soon, in order.
   *
   * @param {EngineEvent} event
   */
  add(event) {
    const last = this.waiting.at(-1);
    const both = last && joined(last, event);
    if (both) {
      this.waiting[this.waiting.length - 1] = both;
    } else {
      this.waiting.push(event);
    }
    const wait = this.sentAt + INTERVAL_MS - performance.now();
    if (wait <= 0) {
      this.flush();
    } else if (!this.timer) {
      this.timer = setTimeout(() => this.flush(), wait);
    }
  }

  /** Send all that waits, as one message. */
  flush() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.waiting.length > 0) {
      this.sentAt = performance.now();
      this.post({ type: "happened", events: this.waiting.splice(0) });
    }
  }
}
