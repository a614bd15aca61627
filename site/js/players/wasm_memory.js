// How much memory the C++ engine gets, and which build of it.
//
// Memory has one size for life, made from the plan before the engine starts, so that
// nothing grows under threads.

const PAGE_BYTES = 65_536;
const MEMORY_TRIES = 3; // a browser that is asked for more than there is looks for what
const GIVE_BACK_MS = 300; // nothing holds any more, and gives it back a moment later
const GIB = 2 ** 30;
const MOST_BYTES = { 32: 4 * GIB - 16 * PAGE_BYTES, 64: 16 * GIB };
const HEAP_BYTES = 8 * 2 ** 20; // globals, the caller's stack, the serialised plan
const THREAD_BYTES = 2 ** 20; // a thread's stack and what the C library keeps for it
const MOST_THREADS = 64;

/**
 * @typedef {"engine64" | "engine32" | "engine32st"} PlainBuild
 * @typedef {PlainBuild | `${PlainBuild}fma`} Build
 * @typedef {32 | 64} Bits
 */

/**
 * @typedef {object} Choice
 * @property {Build} build
 * @property {Bits} bits
 * @property {boolean} isShared whether its memory is shared between threads
 * @property {boolean} isFma whether a product and a sum are one instruction
 * @property {number} threads
 * @property {number} memoryBytes whole pages
 */

/**
 * @typedef {object} Need
 * @property {number} arenaBytes room for the plan's tensors
 * @property {number} threadBytes scratch for each thread
 * @property {number} threads wanted; 1 where the page is not isolated
 * @property {boolean} isIsolated whether memory may be shared between threads
 * @property {boolean} hasMemory64
 * @property {boolean} hasFma
 * @property {Build} [build] takes this build; for tests and measurements
 */

/** An error whose message is for people. */
export class WasmError extends Error {
  name = "WasmError";
}

/** There is not as much memory as wanted; Python says more of it. */
export class NoRoomError extends WasmError {
  name = "NoRoomError";

  /**
   * @param {string} message
   * @param {number} [mostBytes] what there is, or 0 where that is not known
   */
  constructor(message, mostBytes = 0) {
    super(message);
    this.mostBytes = mostBytes;
  }
}

/**
 * @param {number[]} sections
 * @returns {boolean} whether this browser takes a module of these sections
 */
function takes(sections) {
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  return WebAssembly.validate(new Uint8Array([...header, ...sections]));
}

/** @returns {boolean} whether this browser has 64-bit memories */
export function hasMemory64() {
  return takes([5, 3, 1, 4, 1]); // one memory, 64-bit, of at least one page
}

/** @returns {boolean} whether this browser has relaxed SIMD, and with it madd */
export function hasFma() {
  const types = [1, 5, 1, 0x60, 0, 1, 0x7b]; // one: no arguments, a v128
  const functions = [3, 2, 1, 0];
  const splat = [0x41, 0, 0xfd, 0x0f]; // i32.const 0, i8x16.splat
  const madd = [0xfd, 0x85, 0x02]; // f32x4.relaxed_madd
  const body = [0, ...splat, ...splat, ...splat, ...madd, 0x0b];
  const code = [10, body.length + 2, 1, body.length, ...body];
  return takes([...types, ...functions, ...code]);
}

/** @param {number} bytes */
export function inGb(bytes) {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

/**
 * Choose the build that holds a plan: 64-bit only where 32 bits do not do, and the one
 * with FMA where the browser has it.
 *
 * @param {Need} need
 * @returns {Choice}
 * @throws {WasmError} no build holds it; says how much is wanted and how much is possible
 */
export function chooseBuild(need) {
  const threads = need.isIsolated
    ? Math.max(1, Math.min(MOST_THREADS, Math.floor(need.threads)))
    : 1;
  const wanted =
    HEAP_BYTES + need.arenaBytes + threads * (need.threadBytes + THREAD_BYTES);
  const memoryBytes = Math.ceil(wanted / PAGE_BYTES) * PAGE_BYTES;
  const build = need.build ?? buildFor(need, memoryBytes);
  const bits = build.startsWith("engine64") ? 64 : 32;
  const isShared = !build.startsWith("engine32st");
  if (memoryBytes > MOST_BYTES[bits]) {
    throw new NoRoomError(
      `This plan needs ${inGb(memoryBytes)} of memory and the CPU engine can have ` +
        `${inGb(MOST_BYTES[bits])}${whyOnly(bits, need)}. Choose a smaller preset or ` +
        "batch size.",
      MOST_BYTES[bits],
    );
  }
  return {
    build,
    bits,
    isShared,
    isFma: build.endsWith("fma"),
    threads: isShared ? threads : 1,
    memoryBytes,
  };
}

/**
 * @param {Need} need
 * @param {number} memoryBytes
 * @returns {Build}
 */
function buildFor(need, memoryBytes) {
  const plain = plainBuildFor(need, memoryBytes);
  return need.hasFma ? `${plain}fma` : plain;
}

/**
 * @param {Need} need
 * @param {number} memoryBytes
 * @returns {PlainBuild}
 */
function plainBuildFor(need, memoryBytes) {
  if (!need.isIsolated) {
    return "engine32st";
  }
  return memoryBytes > MOST_BYTES[32] && need.hasMemory64 ? "engine64" : "engine32";
}

/**
 * @param {Bits} bits
 * @param {Need} need
 */
function whyOnly(bits, need) {
  if (bits === 64) {
    return "";
  }
  return need.isIsolated
    ? " (this browser has no 64-bit WebAssembly memory)"
    : " (the page is not cross-origin isolated, which the 64-bit engine needs)";
}

/**
 * @param {Choice} choice
 * @returns {Promise<WebAssembly.Memory>} of one size for life
 * @throws {WasmError} the browser does not give that much
 */
export async function makeMemory({ bits, isShared, memoryBytes }) {
  const pages = memoryBytes / PAGE_BYTES;
  const bounds =
    bits === 64
      ? { address: "i64", initial: BigInt(pages), maximum: BigInt(pages) }
      : { initial: pages, maximum: pages };
  const descriptor = { ...bounds, shared: isShared };
  for (let left = MEMORY_TRIES - 1; ; left--) {
    try {
      // the type of the descriptor does not know 64-bit memories yet
      return new WebAssembly.Memory(/** @type {any} */ (descriptor));
    } catch (error) {
      if (left === 0) {
        throw new NoRoomError(
          `The browser gave no memory of ${inGb(memoryBytes)} for the CPU engine ` +
            `(${error}). Close other tabs, or choose a smaller preset.`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, GIVE_BACK_MS));
    }
  }
}

/** @param {number} value */
export function assertSize(value) {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new WasmError(`got ${value} as a pointer or size, wanted a whole number`);
  }
}
