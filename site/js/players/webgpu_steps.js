// Times a step of small dispatches that need a number which changes from step to step: each
// way in which WebGPU lets the host tell it, and each way to wait for a step.
//
// The dispatches of a step depend on each other, as those of a training step do.

const DISPATCHES = 20; // of a step
const STEPS = 48; // of a round, in which nothing waits unless the way does
const ROUNDS = 6; // the first one warms up
const NUMBER_BYTES = 256; // between numbers: what every device can bind
const THREADS = 64;
const IMMEDIATES = "setImmediates each dispatch";

// GPUBufferUsage, GPUMapMode and GPUShaderStage: tsc's own types of a worker do not know the
// constants of WebGPU.
const MAP_READ = 0x01;
const COPY_SRC = 0x04;
const COPY_DST = 0x08;
const UNIFORM = 0x40;
const STORAGE = 0x80;
const COMPUTE = 0x4;

/**
 * @typedef {object} Way
 * @property {string} name
 * @property {number} dispatches of a step
 * @property {(pass: GPUComputePassEncoder, step: number) => void} encode
 * @property {(step: number) => void} [before] runs before the step is encoded
 * @property {(encoder: GPUCommandEncoder) => void} [finish] after its pass
 * @property {() => Promise<void>} [wait] for the step
 *
 * @typedef {{way: string, dispatches: number, ms: number[], js_ms: number[], got: number,
 *   wanted: number} | {way: string, refused: string}} Timed  milliseconds of a step by
 *   round, and of JavaScript in it; or why there is none
 */

class Steps {
  /**
   * @param {GPUDevice} device
   * @param {Record<"ring" | "uniform" | "immediate" | "advance", string>} sources
   */
  constructor(device, sources) {
    this.device = device;
    this.sources = sources;
    const numbers = STORAGE | COPY_DST;
    this.y = this.buffer(4 * THREADS, numbers | COPY_SRC);
    this.index = this.buffer(4, numbers);
    this.ring = this.buffer(4 * STEPS, numbers);
    this.spread = this.buffer(NUMBER_BYTES * STEPS, UNIFORM | COPY_DST);
    this.one = this.buffer(NUMBER_BYTES, UNIFORM | COPY_DST);
    this.staging = this.buffer(4 * THREADS, MAP_READ | COPY_DST);
    this.numbers = Float32Array.from({ length: STEPS }, (_, step) => 1 + (step % 7));
    const spread = new Float32Array((NUMBER_BYTES / 4) * STEPS);
    for (const [step, number] of this.numbers.entries()) {
      spread[(NUMBER_BYTES / 4) * step] = number;
    }
    device.queue.writeBuffer(this.ring, 0, this.numbers);
    device.queue.writeBuffer(this.spread, 0, spread);
  }

  /** @param {number} size @param {number} usage */
  buffer(size, usage) {
    return this.device.createBuffer({ size, usage });
  }

  /**
   * @param {"ring" | "uniform" | "immediate" | "advance"} name of a source
   * @param {GPUBufferBindingLayout[]} kinds of its bindings
   * @param {object} [more] of the pipeline's layout
   */
  pipeline(name, kinds, more = {}) {
    const { device } = this;
    const entries = kinds.map((buffer, binding) => ({
      binding,
      visibility: COMPUTE,
      buffer,
    }));
    const layout = device.createBindGroupLayout({ entries });
    const module = device.createShaderModule({ code: this.sources[name] });
    const pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout], ...more }),
      compute: { module, entryPoint: "main" },
    });
    return { layout, pipeline };
  }

  /**
   * @param {GPUBindGroupLayout} layout
   * @param {(GPUBuffer | GPUBufferBinding)[]} bound
   */
  group(layout, ...bound) {
    const entries = bound.map((resource, binding) => ({
      binding,
      resource: "buffer" in resource ? resource : { buffer: resource },
    }));
    return this.device.createBindGroup({ layout, entries });
  }

  /** Our own way: the counter moves on at the end of each step. @returns {Way} */
  ringWay() {
    const read = /** @type {const} */ ({ type: "read-only-storage" });
    const update = /** @type {const} */ ({ type: "storage" });
    const { layout, pipeline } = this.pipeline("ring", [update, read, read]);
    const advance = this.pipeline("advance", [update]);
    const group = this.group(layout, this.y, this.ring, this.index);
    const counter = this.group(advance.layout, this.index);
    return {
      name: "a ring and a counter on the device",
      dispatches: DISPATCHES + 1,
      encode(pass) {
        repeat(pass, pipeline, () => pass.setBindGroup(0, group));
        pass.setPipeline(advance.pipeline);
        pass.setBindGroup(0, counter);
        pass.dispatchWorkgroups(1);
      },
    };
  }

  /** @returns {Way[]} the number stands in a uniform binding */
  uniformWays() {
    const update = /** @type {const} */ ({ type: "storage" });
    const uniform = /** @type {const} */ ({ type: "uniform" });
    const { layout, pipeline } = this.pipeline("uniform", [update, uniform]);
    const dynamic = this.pipeline("uniform", [
      update,
      { ...uniform, hasDynamicOffset: true },
    ]);
    const size = NUMBER_BYTES;
    const any = this.group(dynamic.layout, this.y, { buffer: this.spread, size });
    const fixed = this.group(layout, this.y, this.one);
    const { queue } = this.device;
    return [
      {
        name: "a new bind group each dispatch",
        dispatches: DISPATCHES,
        encode: (pass, step) =>
          repeat(pass, pipeline, () => {
            const offset = NUMBER_BYTES * step;
            const place = { buffer: this.spread, offset, size };
            pass.setBindGroup(0, this.group(layout, this.y, place));
          }),
      },
      {
        name: "a dynamic offset each dispatch",
        dispatches: DISPATCHES,
        encode: (pass, step) =>
          repeat(pass, dynamic.pipeline, () =>
            pass.setBindGroup(0, any, [NUMBER_BYTES * step]),
          ),
      },
      {
        name: "writeBuffer before each step",
        dispatches: DISPATCHES,
        before: (step) => queue.writeBuffer(this.one, 0, this.numbers, step, 1),
        encode: (pass) => repeat(pass, pipeline, () => pass.setBindGroup(0, fixed)),
      },
    ];
  }

  /** @returns {Way} for a browser that has immediates */
  immediateWay() {
    const kinds = [/** @type {const} */ ({ type: "storage" })];
    const made = this.pipeline("immediate", kinds, { immediateSize: 4 });
    const group = this.group(made.layout, this.y);
    return {
      name: IMMEDIATES,
      dispatches: DISPATCHES,
      encode: (pass, step) =>
        repeat(pass, made.pipeline, () => {
          pass.setBindGroup(0, group);
          /** @type {any} */ (pass).setImmediates(0, this.numbers, step, 1);
        }),
    };
  }

  /** @returns {Way[]} */
  ways() {
    const ring = this.ringWay();
    const { queue } = this.device;
    const waiting = {
      ...ring,
      name: "the same, waiting after each step",
      wait: () => /** @type {Promise<void>} */ (queue.onSubmittedWorkDone()),
    };
    const reading = {
      ...ring,
      name: "the same, reading a result after each step",
      finish: (/** @type {GPUCommandEncoder} */ encoder) =>
        encoder.copyBufferToBuffer(this.y, 0, this.staging, 0, 4),
      wait: async () => {
        await this.staging.mapAsync(MAP_READ);
        this.staging.unmap();
      },
    };
    const immediate = hasImmediates() ? [this.immediateWay()] : [];
    return [ring, waiting, reading, ...this.uniformWays(), ...immediate];
  }

  /**
   * Take a round of steps.
   *
   * @param {Way} way
   * @returns {Promise<{ms: number, jsMs: number}>} of a step
   */
  async round({ encode, before, finish, wait }) {
    const { device } = this;
    device.queue.writeBuffer(this.index, 0, new Uint32Array(1));
    device.queue.writeBuffer(this.y, 0, new Float32Array(THREADS));
    await device.queue.onSubmittedWorkDone();
    let jsMs = 0;
    const start = performance.now();
    for (let step = 0; step < STEPS; step++) {
      const clock = performance.now();
      before?.(step);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      encode(pass, step);
      pass.end();
      finish?.(encoder);
      device.queue.submit([encoder.finish()]);
      jsMs += performance.now() - clock;
      await wait?.();
    }
    await device.queue.onSubmittedWorkDone();
    return { ms: (performance.now() - start) / STEPS, jsMs: jsMs / STEPS };
  }

  /** @returns {Promise<number>} what the last round left */
  async left() {
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.y, 0, this.staging, 0, 4);
    this.device.queue.submit([encoder.finish()]);
    await this.staging.mapAsync(MAP_READ, 0, 4);
    const [first] = new Float32Array(this.staging.getMappedRange(0, 4));
    this.staging.unmap();
    return first;
  }

  free() {
    for (const name of /** @type {const} */ ([
      "y",
      "index",
      "ring",
      "spread",
      "one",
      "staging",
    ])) {
      this[name].destroy();
    }
  }
}

function hasImmediates() {
  return navigator.gpu.wgslLanguageFeatures.has("immediate_address_space");
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {GPUComputePipeline} pipeline
 * @param {() => void} tell sets the bindings of a dispatch
 */
function repeat(pass, pipeline, tell) {
  for (let i = 0; i < DISPATCHES; i++) {
    pass.setPipeline(pipeline);
    tell();
    pass.dispatchWorkgroups(1);
  }
}

/**
 * @param {GPUDevice} device
 * @param {string} sources JSON of kernels by name
 * @returns {Promise<string>} JSON of a `Timed` for each way; they take turns
 * @throws {Error} the GPU refused something
 */
export async function timeSteps(device, sources) {
  device.pushErrorScope("validation");
  const steps = new Steps(device, JSON.parse(sources));
  const ways = steps.ways();
  const sum = steps.numbers.reduce((a, b) => a + b);
  const found = ways.map(({ name, dispatches }) => ({
    way: name,
    dispatches,
    ms: /** @type {number[]} */ ([]),
    js_ms: /** @type {number[]} */ ([]),
    got: 0,
    wanted: DISPATCHES * sum,
  }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, way] of ways.entries()) {
      const { ms, jsMs } = await steps.round(way);
      found[i].got = await steps.left();
      if (round > 0) {
        found[i].ms.push(ms);
        found[i].js_ms.push(jsMs);
      }
    }
  }
  steps.free();
  const error = await device.popErrorScope();
  if (error) {
    throw new Error(`the GPU refused a step: ${error.message}`);
  }
  const refused = { way: IMMEDIATES, refused: "this browser has no immediates" };
  /** @type {Timed[]} */
  const rows = hasImmediates() ? found : [...found, refused];
  return JSON.stringify(rows);
}
