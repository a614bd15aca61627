// Times work on a GPU: by the device's own clock where it has one, else by the wall.
//
// Browsers round the device's clock to about 0.07 ms, so what is short must be repeated
// inside one pass until the pass is long.

const MAX_PASSES = 64; // of one measurement
const STAMP_BYTES = 8;
const NS_PER_MS = 1e6;

// GPUBufferUsage: tsc's own types of a worker do not know the constants of WebGPU.
const MAP_READ = 0x01;
const COPY_SRC = 0x04;
const COPY_DST = 0x08;
const QUERY_RESOLVE = 0x200;

/** @typedef {(pass: GPUComputePassEncoder) => void} Work */

export class GpuTimer {
  #device;
  /** @type {{set: GPUQuerySet, resolved: GPUBuffer, staging: GPUBuffer} | null} */
  #stamps = null;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /** Whether times are the device's own. */
  get isDeviceClock() {
    return this.#device.features.has("timestamp-query");
  }

  /**
   * Run work in passes of their own.
   *
   * @param {Work} work
   * @param {number} passes
   * @returns {Promise<Float64Array>} milliseconds of each pass
   * @throws {RangeError} too many passes
   */
  async time(work, passes) {
    if (passes > MAX_PASSES) {
      throw new RangeError(
        `timing: got ${passes} passes, wanted at most ${MAX_PASSES}`,
      );
    }
    return this.isDeviceClock
      ? this.#byDevice(work, passes)
      : this.#byWall(work, passes);
  }

  /**
   * @param {Work} work
   * @param {number} passes
   */
  async #byDevice(work, passes) {
    const device = this.#device;
    this.#stamps ??= this.#makeStamps();
    const { set, resolved, staging } = this.#stamps;
    const encoder = device.createCommandEncoder();
    for (let i = 0; i < passes; i++) {
      const timestampWrites = {
        querySet: set,
        beginningOfPassWriteIndex: 2 * i,
        endOfPassWriteIndex: 2 * i + 1,
      };
      const pass = encoder.beginComputePass({ timestampWrites });
      work(pass);
      pass.end();
    }
    const bytes = 2 * passes * STAMP_BYTES;
    encoder.resolveQuerySet(set, 0, 2 * passes, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(MAP_READ, 0, bytes);
    const stamps = new BigUint64Array(staging.getMappedRange(0, bytes));
    const ms = new Float64Array(passes);
    for (let i = 0; i < passes; i++) {
      ms[i] = Number(BigInt.asIntN(64, stamps[2 * i + 1] - stamps[2 * i])) / NS_PER_MS;
    }
    staging.unmap();
    return ms;
  }

  #makeStamps() {
    const device = this.#device;
    const count = 2 * MAX_PASSES;
    const size = count * STAMP_BYTES;
    return {
      set: device.createQuerySet({ type: "timestamp", count }),
      resolved: device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC }),
      staging: device.createBuffer({ size, usage: MAP_READ | COPY_DST }),
    };
  }

  /**
   * @param {Work} work
   * @param {number} passes
   */
  async #byWall(work, passes) {
    const { queue } = this.#device;
    const ms = new Float64Array(passes);
    await queue.onSubmittedWorkDone();
    for (let i = 0; i < passes; i++) {
      const encoder = this.#device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      work(pass);
      pass.end();
      const commands = encoder.finish();
      const start = performance.now();
      queue.submit([commands]);
      await queue.onSubmittedWorkDone();
      ms[i] = performance.now() - start;
    }
    return ms;
  }
}
