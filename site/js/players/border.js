// The border between BigInt and Number, written by `python3 -m tools.border` from the
// exports of cpp/engine.cpp; a test holds it to them.
//
// A pointer is a BigInt on a 64-bit memory and a Number on a 32-bit one; past this file
// it is a Number.

import { assertSize, WasmError } from "./wasm_memory.js";

/** @typedef {import("./wasm_memory.js").Bits} Bits */
/** @typedef {number | bigint} Raw */
/** @typedef {Record<string, (...values: Raw[]) => Raw | undefined>} RawExports */

// Result and arguments of each export: p pointer or size, i 32-bit integer, u the same
// without a sign, f 32-bit float, v nothing.
const EXPORTS = {
  tg_open: "p:ppi",
  tg_ready: "i:",
  tg_room: "p:p",
  tg_load: "i:pp",
  tg_run: "i:ii",
  tg_time: "p:ii",
  tg_peak: "f:",
  tg_time_tiles: "i:",
  tg_tile_gflops: "f:i",
  tg_use_tile: "i:i",
  tg_fill_normals: "i:ppuuuuf",
  tg_close: "v:",
};

/**
 * @param {string} type p, i, u or f
 * @param {Bits} bits
 * @param {number} value
 */
function inward(type, bits, value) {
  if (type === "p") {
    assertSize(value);
    return bits === 64 ? BigInt(value) : value;
  }
  if (type === "f") {
    return value;
  }
  const least = type === "u" ? 0 : -(2 ** 31);
  if (!Number.isInteger(value) || value < least || value >= least + 2 ** 32) {
    throw new WasmError(`got ${value}, wanted a 32-bit integer`);
  }
  return value;
}

/**
 * @param {string} type p, i, f or v
 * @param {Bits} bits
 * @param {Raw | undefined} value
 */
function outward(type, bits, value) {
  if (type !== "p") {
    return Number(value ?? 0);
  }
  // a 32-bit pointer past 2 GiB arrives as a negative number
  const pointer = bits === 64 ? Number(value) : Number(value) >>> 0;
  assertSize(pointer);
  return pointer;
}

/**
 * @param {RawExports} raw
 * @param {Bits} bits
 * @returns {Record<keyof typeof EXPORTS, (...values: number[]) => number>} with Numbers
 */
export function wrapExports(raw, bits) {
  const wrapped = Object.entries(EXPORTS).map(([name, signature]) => {
    const [result, types] = signature.split(":");
    /** @param {number[]} values */
    const call = (...values) => {
      if (values.length !== types.length) {
        throw new WasmError(
          `${name}: got ${values.length} values, not ${types.length}`,
        );
      }
      const given = values.map((value, i) => inward(types[i], bits, value));
      return outward(result, bits, raw[`_${name}`](...given));
    };
    return [name, call];
  });
  return Object.fromEntries(wrapped);
}
