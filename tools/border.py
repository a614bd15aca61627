"""Writes site/js/players/border.js: the C++ engine's exports with Numbers for pointers.

Usage: python3 -m tools.border
"""

import re

from tools.paths import ROOT
from tools.shell import BuildError

SOURCE = ROOT / "cpp" / "engine.cpp"
TARGET = ROOT / "site" / "js" / "players" / "border.js"

# Letters of C++ types: p pointer or size, i 32-bit integer, u the same without a sign,
# f 32-bit float, v nothing.
LETTERS = {
    "std::size_t": "p",
    "int": "i",
    "std::uint32_t": "u",
    "float": "f",
    "void": "v",
}
EXPORT = re.compile(r"^EXPORTED ([\w:* ]+?)(tg_\w+)\(([^)]*)\) \{", re.MULTILINE)

HEAD = """\
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
"""

TAIL = """\
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
"""


def _letter(declared: str) -> str:
    """Return the letter of a C++ type.

    Raises:
        BuildError: the border knows no such type.
    """
    plain = declared.removeprefix("const ").strip()
    letter = "p" if plain.endswith("*") else LETTERS.get(plain)
    if letter is None:
        raise BuildError(
            f"{SOURCE.name} exports the type {declared!r}, wanted one of "
            f"{', '.join(LETTERS)} or a pointer: teach tools/border.py"
        )
    return letter


def signatures(source: str) -> dict[str, str]:
    """Return export -> letters of its result and arguments, such as `p:ppi`.

    Raises:
        BuildError: an export has a type that the border does not know.
    """
    found = {}
    for result, name, arguments in EXPORT.findall(source):
        declared = [part.strip() for part in arguments.split(",") if part.strip()]
        types = [re.sub(r"(?<=[\s*])\w+$", "", argument) for argument in declared]
        letters = "".join(_letter(kind.strip()) for kind in types)
        found[name] = f"{_letter(result.strip())}:{letters}"
    return found


def border() -> str:
    """Return the text of the file."""
    table = signatures(SOURCE.read_text(encoding="utf-8"))
    lines = [f'  {name}: "{letters}",\n' for name, letters in table.items()]
    return HEAD + "".join(lines) + TAIL


if __name__ == "__main__":
    TARGET.write_text(border(), encoding="utf-8")
