// Replays prepared programs on a GPU: a loop over an int32 command list.
//
// A step is one command encoder, one compute pass and one submit. Results are copied into
// staging buffers and come back late, so that nothing waits for the GPU but the queue's
// own bound. Runs take effect in the order of the calls, and each gets its own results.

import { QueueBound } from "./queue_bound.js";
import { numbers, ROW_NUMBERS, totalBytes } from "./transfer_table.js";
import { GpuTimer } from "./webgpu_timer.js";

const DISPATCH = 0; // pipeline, bind group, x, y
const COMMAND_WORDS = 5;

const MIN_STAGING_BYTES = 4096;
const LOST_REASON_MS = 1000;
const MAX_KEPT_STAGING = 4; // free staging buffers that are kept for later runs
const WAIT_FOR_WRITES_BYTES = 1 << 20; // larger writes wait for the queue: it buffers them

// GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST, and GPUMapMode.READ: tsc's own types
// of a worker know the interfaces of WebGPU, but not its constants.
const STAGING_USAGE = 0x01 | 0x08;
const MAP_READ = 0x01;

/** @type {GPUErrorFilter[]} */
const FILTERS = ["validation", "out-of-memory", "internal"];

/**
 * @typedef {object} LoadedPlan
 * @property {GPUBuffer[]} buffers
 * @property {GPUComputePipeline[]} pipelines
 * @property {GPUBindGroup[]} bindGroups
 * @property {Map<string, Int32Array>} programs
 * @property {boolean} isFreed
 */

/**
 * @typedef {{program: string, first: number, count: number, repeats: number}} Part
 *   some commands of a program, repeated
 */

/**
 * @typedef {object} Job
 * @property {LoadedPlan} plan
 * @property {string} label the program's name
 * @property {Int32Array} commands
 * @property {number} steps
 * @property {Uint8Array<ArrayBuffer>} bytes what is written before the first step, packed
 * @property {Float64Array} writes transfer table into `bytes`
 * @property {Float64Array} reads transfer table into the result
 */

/**
 * @typedef {object} Encoded
 * @property {Promise<GPUError | null>[]} checks
 * @property {GPUBuffer | null} staging
 * @property {number} readBytes
 */

/** @param {{message: string}} error what is said of it, for a sentence that goes on */
function words({ message }) {
  return message.trim().replace(/\.$/, "");
}

export class WebgpuPlayer {
  #device;
  #timer;
  #bound;
  /** @type {Error | null} */
  #failure = null;
  /** @type {Set<(reason: Error) => void>} */
  #pending = new Set();
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve();
  /** @type {GPUBuffer[]} */
  #staging = [];
  #hostMs = 0;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
    this.#timer = new GpuTimer(device);
    this.#bound = new QueueBound(device.queue);
    device.addEventListener("uncapturederror", (event) => {
      const { error } = /** @type {GPUUncapturedErrorEvent} */ (event);
      event.preventDefault();
      this.#fail(`the GPU reported an error: ${words(error)}`);
    });
    device.lost.then((lost) => {
      this.#fail(
        `the GPU device was lost (${lost.reason}): ${words(lost) || "no message"}; ` +
          "it may be out of memory: choose a smaller preset or another backend",
      );
    });
  }

  /** Whether `time` gives the device's own times, not those of the wall. */
  get isDeviceClock() {
    return this.#timer.isDeviceClock;
  }

  /** Milliseconds that steps took to encode and submit, all together. */
  get hostMs() {
    return this.#hostMs;
  }

  /** What made the device unusable, or "". */
  get failure() {
    return this.#failure?.message ?? "";
  }

  /**
   * Why the device is lost, or "". What is refused because of it is told first, so that
   * this waits a moment.
   *
   * @returns {Promise<string>}
   */
  async whyLost() {
    const wait = new Promise((resolve) => setTimeout(resolve, LOST_REASON_MS));
    await Promise.race([this.#device.lost, wait]);
    return this.failure;
  }

  /**
   * Take a prepared plan.
   *
   * @param {GPUBuffer[]} buffers
   * @param {GPUComputePipeline[]} pipelines
   * @param {GPUBindGroup[]} bindGroups
   * @param {string[]} names of the programs
   * @param {Uint8Array[]} commands of each program: int32 words, as bytes
   * @returns {LoadedPlan} for `run` and `unload`
   */
  load(buffers, pipelines, bindGroups, names, commands) {
    /** @type {Map<string, Int32Array>} */
    const programs = new Map([["", new Int32Array(0)]]);
    for (const [i, name] of names.entries()) {
      programs.set(name, new Int32Array(commands[i].slice().buffer));
    }
    return { buffers, pipelines, bindGroups, programs, isFreed: false };
  }

  /**
   * Let go of a plan; its runs that have not begun are refused.
   *
   * @param {LoadedPlan} plan
   */
  unload(plan) {
    plan.isFreed = true;
  }

  /**
   * Write, run a program some times, and read.
   *
   * @param {LoadedPlan} plan
   * @param {string} program or "" to transfer only
   * @param {number} steps
   * @param {Uint8Array<ArrayBuffer>} bytes what to write, packed
   * @param {Uint8Array} writes transfer table: rows of float64, as bytes
   * @param {Uint8Array} reads transfer table
   * @returns {Promise<Uint8Array>} what was read, packed
   * @throws {Error} the GPU failed now or before
   */
  run(plan, program, steps, bytes, writes, reads) {
    const commands = plan.programs.get(program);
    if (!commands) {
      return Promise.reject(new Error(`program ${program} was not loaded`));
    }
    const tables = { writes: numbers(writes), reads: numbers(reads) };
    const job = { plan, label: program, commands, steps, bytes, ...tables };
    const encoded = this.#turn.then(() => this.#encode(job));
    this.#turn = Promise.allSettled([encoded]);
    return this.#untilFailure(encoded.then((done) => this.#collect(job, done)));
  }

  /**
   * Time parts of programs in turn, each repeated in passes of its own.
   *
   * @param {LoadedPlan} plan
   * @param {Part} warmUp runs first, untimed
   * @param {Part[]} parts
   * @param {number} rounds passes of each part
   * @returns {Promise<Uint8Array>} milliseconds of each pass, round by round: float64
   * @throws {Error} the GPU failed now or before
   */
  time(plan, warmUp, parts, rounds) {
    const timed = this.#turn.then(() => this.#time(plan, warmUp, parts, rounds));
    this.#turn = Promise.allSettled([timed]);
    return this.#untilFailure(timed);
  }

  /**
   * @param {LoadedPlan} plan
   * @param {Part} warmUp
   * @param {Part[]} parts
   * @param {number} rounds
   */
  async #time(plan, warmUp, parts, rounds) {
    this.#assertUsable(plan);
    /** @param {Part} part @returns {(pass: GPUComputePassEncoder) => void} */
    const workOf = ({ program, first, count, repeats }) => {
      const whole = plan.programs.get(program) ?? new Int32Array(0);
      const end = (first + count) * COMMAND_WORDS;
      return (pass) => {
        for (let i = 0; i < repeats; i++) {
          for (let at = first * COMMAND_WORDS; at < end; at += COMMAND_WORDS) {
            this.#play(plan, pass, whole, at);
          }
        }
      };
    };
    /** @type {Promise<GPUError | null>[]} */
    const checks = [];
    /** @type {Promise<Float64Array>} */
    let timed = Promise.resolve(new Float64Array(0));
    this.#scoped(checks, () => {
      timed = this.#timer.time(workOf(warmUp), parts.map(workOf), rounds);
    });
    const [ms] = await Promise.allSettled([timed]);
    const error = (await Promise.all(checks)).find((found) => found !== null);
    if (error || ms.status === "rejected") {
      const why = words(error ?? /** @type {any} */ (ms).reason);
      throw this.#fail(`the GPU refused the work that was timed: ${why}`);
    }
    return new Uint8Array(ms.value.buffer);
  }

  /**
   * @param {string} message
   * @returns {Error} the first failure
   */
  #fail(message) {
    this.#failure ??= new Error(message);
    for (const reject of this.#pending) {
      reject(this.#failure);
    }
    this.#pending.clear();
    return this.#failure;
  }

  /**
   * @template T
   * @param {Promise<T>} promise
   * @returns {Promise<T>} the same, but rejected as soon as the device fails
   */
  #untilFailure(promise) {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      promise
        .then(resolve, (error) => reject(this.#failure ?? error))
        .finally(() => this.#pending.delete(reject));
    });
  }

  /** @param {LoadedPlan} plan */
  #assertUsable(plan) {
    if (this.#failure) {
      throw this.#failure;
    }
    if (plan.isFreed) {
      throw new Error("the plan was freed before this run began");
    }
  }

  /**
   * @param {Job} job
   * @returns {Promise<Encoded>} when all of it is on the queue
   */
  async #encode(job) {
    this.#assertUsable(job.plan);
    const readBytes = totalBytes(job.reads);
    /** @type {Encoded} */
    const done = { checks: [], staging: null, readBytes };
    this.#scoped(done.checks, () => {
      this.#write(job);
      done.staging = readBytes ? this.#takeStaging(readBytes) : null;
    });
    let end = 0;
    for (let first = 0; first < job.steps; first = end) {
      await this.#roomOnQueue();
      this.#assertUsable(job.plan);
      const start = first;
      end = Math.min(first + this.#bound.groupSteps, job.steps);
      this.#scoped(done.checks, () => {
        const clock = performance.now();
        for (let step = start; step < end; step++) {
          this.#submitStep(job, step === job.steps - 1 ? done.staging : null);
        }
        this.#hostMs += performance.now() - clock;
      });
      this.#bound.fence(end - start);
    }
    if (job.steps === 0) {
      this.#scoped(done.checks, () => this.#submitStep(job, done.staging));
      if (job.bytes.length >= WAIT_FOR_WRITES_BYTES) {
        this.#bound.fence(0);
        await this.#roomOnQueue();
      }
    }
    return done;
  }

  /**
   * @param {Promise<GPUError | null>[]} checks
   * @param {() => void} encode runs inside error scopes, whose results join `checks`
   */
  #scoped(checks, encode) {
    for (const filter of FILTERS) {
      this.#device.pushErrorScope(filter);
    }
    try {
      encode();
    } finally {
      for (const _ of FILTERS) {
        const asResult = (/** @type {GPUError} */ error) => error;
        checks.push(this.#device.popErrorScope().catch(asResult));
      }
    }
  }

  async #roomOnQueue() {
    for (let full = this.#bound.oldest(); full; full = this.#bound.oldest()) {
      await this.#untilFailure(full);
    }
  }

  /** @param {Job} job */
  #write({ plan, bytes, writes }) {
    for (let at = 0; at < writes.length; at += ROW_NUMBERS) {
      const [buffer, offset, start, size] = writes.subarray(at, at + ROW_NUMBERS);
      this.#device.queue.writeBuffer(plan.buffers[buffer], offset, bytes, start, size);
    }
  }

  /**
   * @param {Job} job
   * @param {GPUBuffer | null} staging where results go after the step
   */
  #submitStep({ plan, label, commands, steps, reads }, staging) {
    const encoder = this.#device.createCommandEncoder();
    if (steps > 0) {
      const pass = encoder.beginComputePass({ label });
      for (let at = 0; at < commands.length; at += COMMAND_WORDS) {
        this.#play(plan, pass, commands, at);
      }
      pass.end();
    }
    if (staging) {
      for (let at = 0; at < reads.length; at += ROW_NUMBERS) {
        const [buffer, offset, start, size] = reads.subarray(at, at + ROW_NUMBERS);
        encoder.copyBufferToBuffer(plan.buffers[buffer], offset, staging, start, size);
      }
    }
    this.#device.queue.submit([encoder.finish()]);
  }

  /**
   * @param {LoadedPlan} plan
   * @param {GPUComputePassEncoder} pass
   * @param {Int32Array} commands
   * @param {number} at first word of the command
   */
  #play(plan, pass, commands, at) {
    if (commands[at] !== DISPATCH) {
      throw new Error(`command ${commands[at]} is unknown; wanted ${DISPATCH}`);
    }
    pass.setPipeline(plan.pipelines[commands[at + 1]]);
    pass.setBindGroup(0, plan.bindGroups[commands[at + 2]]);
    pass.dispatchWorkgroups(commands[at + 3], commands[at + 4]);
  }

  /**
   * @param {number} bytes
   * @returns {GPUBuffer} free, and at least as large
   */
  #takeStaging(bytes) {
    const at = this.#staging.findIndex((buffer) => buffer.size >= bytes);
    if (at >= 0) {
      return this.#staging.splice(at, 1)[0];
    }
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, MIN_STAGING_BYTES)));
    const usage = STAGING_USAGE;
    return this.#device.createBuffer({ label: "staging", size, usage });
  }

  /** @param {GPUBuffer} buffer */
  #giveStaging(buffer) {
    this.#staging.push(buffer);
    this.#staging.sort((a, b) => a.size - b.size);
    if (this.#staging.length > MAX_KEPT_STAGING) {
      this.#staging.pop()?.destroy();
    }
  }

  /**
   * @param {Job} job
   * @param {Encoded} done
   * @returns {Promise<Uint8Array>}
   */
  async #collect(job, { checks, staging, readBytes }) {
    const mapped = staging?.mapAsync(MAP_READ, 0, readBytes);
    const [ready] = await Promise.allSettled([mapped]);
    const error = (await Promise.all(checks)).find((found) => found !== null);
    if (error) {
      throw this.#fail(await this.#diagnose(job, error));
    }
    if (ready.status === "rejected") {
      await this.whyLost();
      throw this.#fail(`results could not be read: ${words(ready.reason)}`);
    }
    if (!staging) {
      return new Uint8Array(0);
    }
    const copy = new Uint8Array(staging.getMappedRange(0, readBytes)).slice();
    staging.unmap();
    this.#giveStaging(staging);
    return copy;
  }

  /**
   * Find which kernel a submit failed at, by playing the calls one by one.
   *
   * @param {Job} job
   * @param {GPUError} error
   * @returns {Promise<string>}
   */
  async #diagnose(job, error) {
    const { plan, commands, steps } = job;
    for (let at = 0; steps > 0 && at < commands.length; at += COMMAND_WORDS) {
      const one = commands.slice(at, at + COMMAND_WORDS);
      /** @type {Promise<GPUError | null>[]} */
      const checks = [];
      const call = { ...job, commands: one, steps: 1 };
      this.#scoped(checks, () => this.#submitStep(call, null));
      const found = (await Promise.all(checks)).find((result) => result !== null);
      if (found) {
        const { label } = plan.pipelines[one[1]];
        return `kernel ${label} failed on the GPU: ${words(found)}`;
      }
    }
    return `the GPU refused the work: ${words(error)}`;
  }
}
