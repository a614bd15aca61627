// Starts the C++ engine and crosses into it: the one place where its pointers are seen.
//
// Outside of this file a pointer is an offset into the arena.

import { wrapExports } from "./border.js";
import {
  assertSize,
  chooseBuild,
  hasFma,
  hasMemory64,
  inGb,
  makeMemory,
  NoRoomError,
  WasmError,
} from "./wasm_memory.js";

const START_LIMIT_MS = 20_000;
const PEAK_CALLS = 10; // the browser compiles the loop well after the first ones

const STATUS_WORDS = [
  "all is well",
  "these bytes are not a plan",
  "the engine is of another build than the Python package: reload the page",
  "the plan does not fit the memory that the engine was opened with",
  "the plan has no such program",
  "these bytes are outside of the arena",
];

/**
 * @typedef {import("./wasm_memory.js").Bits} Bits
 * @typedef {import("./wasm_memory.js").Build} Build
 * @typedef {import("./wasm_memory.js").Choice} Choice
 */

/**
 * @typedef {object} Engine
 * @property {string} adapter for people: "WASM 32-bit, 2 threads, FMA"
 * @property {Build} build
 * @property {Bits} bits
 * @property {number} threads
 * @property {number} memoryBytes
 * @property {(plan: Uint8Array) => void} load takes a serialised plan; its arena is zeros
 * @property {(program: number, steps: number) => void} run returns when all is done
 * @property {(program: number, steps: number, calls: number) => Uint8Array} time runs a
 *   program of so many calls; float64 ms: before the first call and after each
 * @property {() => number} peakGflops what one thread multiplies and adds at most
 * @property {(tile: number) => number} tileGflops what a thread did with a tile when the
 *   engine started; 0 if that was not timed
 * @property {(tile: number) => number} useTile makes products of a tile, if there is one,
 *   and returns the number of the one in use
 * @property {(...values: number[]) => void} fillNormals offset in bytes, count, words of
 *   the seed (low, high), sub-stream, stream, deviation: draws weights into the arena
 * @property {(offset: number, bytes: Uint8Array) => void} write into the arena
 * @property {(offset: number, size: number) => Uint8Array} read a copy out of the arena
 * @property {() => void} free ends the threads; the engine is of no use afterwards
 */

/**
 * @typedef {object} EmscriptenModule
 * @property {{terminateAllThreads: () => void}} [PThread]
 * @typedef {import("./border.js").RawExports} RawExports
 * @typedef {(settings: object) => Promise<EmscriptenModule & RawExports>} Factory
 */

/**
 * @param {string} what
 * @param {number} limitMs
 */
function tooLate(what, limitMs) {
  return new WasmError(
    `${what} took more than ${limitMs / 1000} s. Reload the page; if it happens again, ` +
      "choose another backend.",
  );
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 * @param {number} limitMs
 * @returns {Promise<T>}
 */
async function inTime(promise, what, limitMs) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(tooLate(what, limitMs)), limitMs);
  });
  try {
    return await /** @type {Promise<T>} */ (Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {() => boolean} isDone
 * @param {string} what
 * @param {number} limitMs
 */
async function until(isDone, what, limitMs) {
  const end = performance.now() + limitMs;
  while (!isDone()) {
    if (performance.now() > end) {
      throw tooLate(what, limitMs);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

// The engine prints nothing; what the C library might print has no place on a page.
function noteNothing() {
  return;
}

/**
 * Let the engine find the fastest tile. It works for some milliseconds in all, and rests
 * between while the browser compiles what it worked with.
 *
 * @param {ReturnType<typeof wrapExports>} exports
 */
async function chooseTile(exports) {
  for (let wait = 0; wait >= 0; wait = exports.tg_time_tiles()) {
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/**
 * Load a build, open the engine in it and wait until all of its threads are there.
 *
 * @param {Choice} choice
 * @param {WebAssembly.Memory} memory
 * @param {{engineUrl: string, arenaBytes: number, threadBytes: number, limitMs: number, tile?: number | undefined}} wanted
 */
async function startEngine({ build, bits, threads }, memory, wanted) {
  const { engineUrl, arenaBytes, threadBytes, limitMs, tile } = wanted;
  const folder = new URL(engineUrl, self.location.href);
  /** @type {EmscriptenModule & Record<string, unknown>} the factory adds to it */
  const settings = { wasmMemory: memory, poolSize: threads - 1 };
  settings.print = noteNothing;
  settings.printErr = noteNothing;
  const stop = () => settings.PThread?.terminateAllThreads();
  const what = "Starting the CPU engine";
  try {
    /** @type {{default: Factory}} */
    const glue = await import(new URL(`${build}.mjs`, folder).href);
    const module = await inTime(glue.default(settings), what, limitMs);
    const exports = wrapExports(module, bits);
    const arena = exports.tg_open(arenaBytes, threadBytes, threads);
    if (arena === 0) {
      throw new NoRoomError(
        `The CPU engine found no room for ${inGb(arenaBytes)} and ${threads} threads ` +
          "in its memory. Choose a smaller preset.",
      );
    }
    await until(() => exports.tg_ready() === threads, `${what}'s threads`, limitMs);
    if (tile === undefined) {
      await chooseTile(exports);
    } else {
      exports.tg_use_tile(tile);
    }
    return { exports, arena, stop };
  } catch (error) {
    stop();
    throw error instanceof WasmError ? error : notStarted(error);
  }
}

/** @param {unknown} error most often of a file that could not be fetched */
function notStarted(error) {
  const why = error instanceof Error ? error.message : String(error);
  return new WasmError(
    `The CPU engine did not start (${why}). Check the connection and reload the page, ` +
      "or choose another backend.",
  );
}

/**
 * Start an engine. Call it in a worker: a run blocks the thread that it is called on.
 *
 * @param {object} wanted
 * @param {string} wanted.engineUrl the folder of the builds, with a slash at the end
 * @param {number} wanted.arenaBytes room for the plan's tensors
 * @param {number} wanted.threadBytes scratch for each thread
 * @param {number} [wanted.threads] at most; never more than the machine's cores
 * @param {Build} [wanted.build] takes this build and number of threads; for tests
 * @param {number} [wanted.tile] takes this tile, by its number; the fastest by default
 * @param {number} [wanted.limitMs] for starting
 * @returns {Promise<Engine>}
 * @throws {WasmError} there is no such memory, or the threads did not start in time
 */
export async function openWasm({
  engineUrl,
  arenaBytes,
  threadBytes,
  threads,
  build,
  tile,
  limitMs = START_LIMIT_MS,
}) {
  const cores = navigator.hardwareConcurrency || 1;
  const choice = chooseBuild({
    arenaBytes,
    threadBytes,
    threads: build ? (threads ?? cores) : Math.min(cores, threads ?? cores),
    isIsolated: self.crossOriginIsolated === true,
    hasMemory64: hasMemory64(),
    hasFma: hasFma(),
    ...(build ? { build } : {}),
  });
  const memory = await makeMemory(choice);
  const wanted = { engineUrl, arenaBytes, threadBytes, limitMs, tile };
  const started = await startEngine(choice, memory, wanted);
  return engineOf(choice, memory, started, arenaBytes);
}

/**
 * @param {Choice} choice
 * @param {WebAssembly.Memory} memory
 * @param {Awaited<ReturnType<typeof startEngine>>} started
 * @param {number} arenaBytes
 * @returns {Engine}
 */
function engineOf(choice, memory, { exports, arena, stop }, arenaBytes) {
  /** @type {{memory: WebAssembly.Memory, exports: typeof exports} | null} */
  let live = { memory, exports };
  const open = () => {
    if (live === null) {
      throw new WasmError("The CPU engine was used after it was freed.");
    }
    return live;
  };
  /**
   * @param {number} offset
   * @param {number} size
   * @returns {Uint8Array} a view made for this access alone
   */
  const view = (offset, size) => {
    assertSize(offset);
    assertSize(size);
    if (offset + size > arenaBytes) {
      throw new WasmError(`bytes ${offset} to ${offset + size} of ${arenaBytes}`);
    }
    return new Uint8Array(open().memory.buffer, arena + offset, size);
  };
  /** @param {number} status */
  const assertFine = (status) => {
    if (status !== 0) {
      throw new WasmError(`The CPU engine refused: ${STATUS_WORDS[status] ?? status}.`);
    }
  };
  const { build, bits, threads, memoryBytes } = choice;
  const count = threads === 1 ? "1 thread" : `${threads} threads`;
  return {
    adapter: `WASM ${bits}-bit, ${count}, ${choice.isFma ? "FMA" : "SIMD"}`,
    build,
    bits,
    threads,
    memoryBytes,
    load(plan) {
      const { exports, memory } = open();
      const room = exports.tg_room(plan.length);
      if (room === 0) {
        throw new WasmError(`The CPU engine has no room for ${plan.length} bytes.`);
      }
      new Uint8Array(memory.buffer, room, plan.length).set(plan);
      assertFine(exports.tg_load(room, plan.length));
    },
    run(program, steps) {
      assertFine(open().exports.tg_run(program, steps));
    },
    time(program, steps, calls) {
      const { exports, memory } = open();
      const times = exports.tg_time(program, steps);
      if (times === 0) {
        throw new WasmError(`The CPU engine cannot time program ${program}.`);
      }
      return new Uint8Array(memory.buffer, times, 8 * (1 + steps * calls)).slice();
    },
    peakGflops() {
      const { tg_peak } = open().exports;
      return Math.max(...Array.from({ length: PEAK_CALLS }, () => tg_peak()));
    },
    tileGflops(tile) {
      return open().exports.tg_tile_gflops(tile);
    },
    useTile(tile) {
      return open().exports.tg_use_tile(tile);
    },
    fillNormals(...values) {
      assertFine(open().exports.tg_fill_normals(...values));
    },
    write(offset, bytes) {
      view(offset, bytes.length).set(bytes);
    },
    read(offset, size) {
      return view(offset, size).slice();
    },
    free() {
      if (live !== null) {
        stop();
        live = null; // a browser holds only some dozens of memories
      }
    },
  };
}
