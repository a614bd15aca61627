"""Generates the C++ header of the contract: `python -m tabgrad.backends.wasm_header`.

For each op: a struct of its arguments and constants, the declaration of the function
that does it, and a row of the table that the engine runs plans by. Nothing about an
op is written twice, so that C++, plan and references cannot disagree.
"""

from __future__ import annotations

import sys

from tabgrad.backends import wasm_abi
from tabgrad.backends.wasm_abi import SCRATCH, SHARING, TILES, Scratch, is_count
from tabgrad.ops import OPS, Arg, Op

_HEAD = """\
// Generated from tabgrad.ops by tabgrad.backends.wasm_header: change those, not this.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "room.h"

namespace tabgrad {{

class Part;

inline constexpr std::uint64_t MAGIC = {magic}u;
inline constexpr std::uint64_t CONTRACT = {contract}u;

// What a product can be made of; a tile is known by its number.
struct TileShape {{
  std::size_t rows;
  std::size_t columns;
}};

inline constexpr TileShape TILES[] = {{{tiles}}};

// What holds both operands of a product, packed for any tile.
constexpr std::uint64_t packed_bytes(std::uint64_t M, std::uint64_t N,
                                     std::uint64_t K) {{
  std::uint64_t vectors = 0;
  for (const TileShape& tile : TILES) {{
    vectors = std::max(vectors, padded<std::uint64_t>(M, tile.rows) +
                                    padded<std::uint64_t>(N, tile.columns));
  }}
  return 4 * vectors * K;
}}
"""

_TABLE = """
struct OpRow {{
  const char* name;
  std::size_t n_words;  // op, adds, arguments, constants
  bool (*fits)(const std::uint64_t* call, const Room& room);
  void (*run)(const std::uint64_t* call, std::byte* arena, Part& part);
}};

inline constexpr OpRow OPS[] = {{
{rows}
}};

}}  // namespace tabgrad
"""


def type_name(op: Op) -> str:
    """Return the name of an op's struct."""
    return "".join(word.capitalize() for word in op.name.split("_"))


def _axes(arg: Arg) -> list[str]:
    return [f"{factor if factor > 1 or not letter else ''}{letter}"
            for factor, letter in arg.axes]  # fmt: skip


def _pointer(arg: Arg) -> str:
    const = "const " if arg.access == "read" else ""
    return f"{const}{'float' if arg.dtype == 'f32' else 'std::uint32_t'}*"


def struct_of(op: Op) -> str:
    """Return the struct of an op's arguments, sizes, attributes and adds."""
    fields = [f"{_pointer(a)} {a.name};  // ({', '.join(_axes(a))})" for a in op.args]
    fields += [f"{'std::size_t' if is_count(c) else 'double'} {c};" for c in op.consts]
    fields += [f"bool add_{name};" for name in op.adds]
    lines = "".join(f"  {line}\n" for line in fields)
    return f"struct {type_name(op)} {{\n{lines}}};\n"


def declaration_of(op: Op) -> str:
    """Return the declaration of the function that does an op."""
    return f"void {op.name}(const {type_name(op)}& a, Part& part);\n"


def _bind(op: Op) -> str:
    at = 2
    fields = []
    for arg in op.args:
        fields.append(f".{arg.name} = at<{_pointer(arg)}>(arena, call[{at}])")
        at += 1
    for const in op.consts:
        value = f"std::bit_cast<double>(call[{at}])"
        if is_count(const):
            value = f"static_cast<std::size_t>(call[{at}])"
        fields.append(f".{const} = {value}")
        at += 1
    fields += [f".add_{n} = (call[1] >> {i} & 1) != 0" for i, n in enumerate(op.adds)]
    lines = "".join(f"      {line},\n" for line in fields)
    return (
        f"inline {type_name(op)} bind_{op.name}(const std::uint64_t* call, "
        f"std::byte* arena) {{\n  return {{\n{lines}  }};\n}}\n"
    )


def _fits(op: Op) -> str:
    first_const = 2 + len(op.args)
    words = {c: f"call[{first_const + i}]" for i, c in enumerate(op.consts)}
    checks = []
    for number, arg in enumerate(op.args):
        factors = [str(f) for f, _ in arg.axes if f > 1]
        factors += [words[letter] for _, letter in arg.axes if letter]
        elements = " * ".join(factors) or "std::uint64_t{1}"
        checks.append(f"room.holds(call[{2 + number}], {elements})")
    if op.name in SCRATCH:
        checks.append(f"room.scratch >= {_scratch(SCRATCH[op.name], words)}")
    if op.name in SHARING:
        m, n, k = (words[size] for size in "MNK")
        checks.append(f"room.shared >= packed_bytes({m}, {n}, {k})")
    body = " &&\n         ".join(checks)
    return (
        f"inline bool fits_{op.name}(const std::uint64_t* call, const Room& room) {{\n"
        f"  return {body};\n}}\n"
    )


def _scratch(need: Scratch, words: dict[str, str]) -> str:
    time = f"padded({words['T']})"
    depth = f"padded({words['C']} / {words['H']})"
    return (
        f"4 * ({need.heads} * {time} * {depth} + 8 * {need.times} * {time} + "
        f"8 * {need.depths} * {depth})"
    )


def _run(op: Op) -> str:
    return (
        f"inline void run_{op.name}(const std::uint64_t* call, std::byte* arena, "
        f"Part& part) {{\n  {op.name}(bind_{op.name}(call, arena), part);\n}}\n"
    )


def header() -> str:
    """Return the text of the header."""
    head = _HEAD.format(
        magic=wasm_abi.MAGIC,
        contract=wasm_abi.contract_hash(),
        tiles=", ".join(f"{{{rows}, {columns}}}" for rows, columns in TILES),
    )
    parts = [head]
    for op in OPS.values():
        parts += [struct_of(op) + declaration_of(op) + _bind(op) + _fits(op) + _run(op)]
    rows = [
        f'    {{"{op.name}", {2 + len(op.args) + len(op.consts)}, '
        f"fits_{op.name}, run_{op.name}}},"
        for op in OPS.values()
    ]
    return "\n".join(parts) + _TABLE.format(rows="\n".join(rows))


def main() -> None:
    """Print the header."""
    sys.stdout.write(header())


if __name__ == "__main__":
    main()
