// Bounds what waits on a GPU's queue: groups of steps, each as long as a fixed time, so that
// the queue outlasts what the worker computes in between and yet a pause is felt at once.

const GROUP_MS = 12;
const FIRST_GROUP_STEPS = 8;
const MAX_GROUP_STEPS = 64;
const MAX_GROUPS = 2; // on the queue before the next one waits
const LEAST_MS = 0.1;

export class QueueBound {
  #queue;
  /** @type {Promise<unknown>[]} */
  #fences = [];
  #endedAt = 0; // when the last group did
  /** Steps to submit before the next `fence`. */
  groupSteps = FIRST_GROUP_STEPS;

  /** @param {GPUQueue} queue */
  constructor(queue) {
    this.#queue = queue;
  }

  /**
   * End a group.
   *
   * @param {number} steps in it; 0 for one without steps
   */
  fence(steps) {
    const submittedAt = performance.now();
    const done = this.#queue.onSubmittedWorkDone().then(() => {
      const now = performance.now();
      const ms = now - Math.max(submittedAt, this.#endedAt);
      this.#endedAt = now;
      if (steps > 0) {
        const wanted = Math.round((GROUP_MS * steps) / Math.max(ms, LEAST_MS));
        this.groupSteps = Math.max(1, Math.min(wanted, MAX_GROUP_STEPS, 2 * steps));
      }
    });
    this.#fences.push(Promise.allSettled([done]));
  }

  /** @returns {Promise<unknown> | null} the group to wait for, if the queue is full */
  oldest() {
    return this.#fences.length < MAX_GROUPS ? null : (this.#fences.shift() ?? null);
  }
}
