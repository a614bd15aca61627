// Times work on a GPU: by the device's own clock where it has one, else by the wall.
//
// Browsers round the device's clock to about 0.07 ms, so what is short must be repeated
// inside one pass until the pass is long.

const MAX_PASSES = 2048; // of one measurement: two stamps each, of the 4096 a set may have
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
   * Run works in turn, each in a pass of its own, without a pause in between.
   *
   * @param {Work} warmUp first, so that an idle device has raised its clocks
   * @param {Work[]} works
   * @param {number} rounds
   * @returns {Promise<Float64Array>} milliseconds of each pass: round by round
   * @throws {RangeError} too many passes
   */
  async time(warmUp, works, rounds) {
    const passes = Array.from({ length: rounds }, () => works).flat();
    if (passes.length > MAX_PASSES) {
      const got = `${passes.length} passes`;
      throw new RangeError(`timing: got ${got}, wanted at most ${MAX_PASSES}`);
    }
    return this.isDeviceClock
      ? this.#byDevice(warmUp, passes)
      : this.#byWall(warmUp, passes);
  }

  /**
   * @param {Work} warmUp
   * @param {Work[]} works
   */
  async #byDevice(warmUp, works) {
    const device = this.#device;
    this.#stamps ??= this.#makeStamps();
    const { set, resolved, staging } = this.#stamps;
    const encoder = device.createCommandEncoder();
    encode(encoder, warmUp);
    for (const [i, work] of works.entries()) {
      const timestampWrites = {
        querySet: set,
        beginningOfPassWriteIndex: 2 * i,
        endOfPassWriteIndex: 2 * i + 1,
      };
      encode(encoder, work, { timestampWrites });
    }
    const count = 2 * works.length;
    const bytes = count * STAMP_BYTES;
    encoder.resolveQuerySet(set, 0, count, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(MAP_READ, 0, bytes);
    const stamps = new BigUint64Array(staging.getMappedRange(0, bytes));
    const ms = new Float64Array(works.length);
    for (let i = 0; i < ms.length; i++) {
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
   * @param {Work} warmUp
   * @param {Work[]} works
   */
  async #byWall(warmUp, works) {
    const { queue } = this.#device;
    /** @param {Work} work */
    const run = async (work) => {
      const encoder = this.#device.createCommandEncoder();
      encode(encoder, work);
      const commands = encoder.finish();
      const start = performance.now();
      queue.submit([commands]);
      await queue.onSubmittedWorkDone();
      return performance.now() - start;
    };
    await run(warmUp);
    const ms = new Float64Array(works.length);
    for (const [i, work] of works.entries()) {
      ms[i] = await run(work);
    }
    return ms;
  }
}

/**
 * @param {GPUCommandEncoder} encoder
 * @param {Work} work
 * @param {GPUComputePassDescriptor} [wanted]
 */
function encode(encoder, work, wanted) {
  const pass = encoder.beginComputePass(wanted);
  work(pass);
  pass.end();
}
