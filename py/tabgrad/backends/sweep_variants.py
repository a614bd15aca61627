"""Products as others write them, for the bench's sweep to be held against.

No plan takes them by itself: the tuner does not try them. Rows that round operands to
half precision cannot be as exact as a product must be: they have a tolerance of their
own, and no plan takes them at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tabgrad.backends.product_variants import PRODUCTS, Blocking
from tabgrad.backends.variant import WORKGROUP, Consts, Variant
from tabgrad.ops import Tol

SIDE = 16  # of the square that a workgroup of matmul/naive and matmul/tiled makes
PLAIN = ("matmul_nn", "matmul_nt", "matmul_tn")
QUAD_ROWS, QUAD_COLUMNS, QUAD_TERMS = 8, 16, 4  # what matmul/quads wants multiples of

# more tiles of matmul/blocked: the usual 4 x 4, and such as win on other devices
_TILES = (
    Blocking(64, 64, 16, 4, 4),
    Blocking(64, 128, 16, 8, 4),
    Blocking(128, 64, 16, 8, 8),
    Blocking(128, 128, 16, 16, 8),
    Blocking(256, 128, 16, 16, 8),
)

# what one change does to these tiles is told apart on x w alone
_CHANGED = (Blocking(64, 64, 16, 8, 8), Blocking(128, 128, 16, 8, 8))

# each operand is off by up to 2^-11 of itself, and a sum of K products of order one by
# about sqrt(K) 2^-11; a sum of halves is rounded K times more: for K up to 4096
_PACKED = Tol(rel=1e-3, abs=3e-3)
_HALVES = Tol(rel=4e-2, abs=2e-2)


def _never(_: Consts) -> bool:
    return False


def _squares(consts: Consts) -> int:
    """Return the threads of all squares."""
    tiles = -(-int(consts["M"]) // SIDE) * -(-int(consts["N"]) // SIDE)
    return tiles * SIDE * SIDE


def _by_squares(op: str, name: str, main: str, n_bytes: int) -> Variant:
    product = PRODUCTS[op]
    return Variant(
        name,
        op,
        op,
        _squares,
        constants={"WG": SIDE * SIDE, "SIDE": SIDE},
        libs=("grid", "elem1", *product.libs),
        main=main,
        flags=product.flags,
        is_likely=_never,
        workgroup_bytes=lambda _: n_bytes,
    )


def _quads(op: str) -> Variant:
    product = PRODUCTS[op]

    def fits(consts: Consts) -> bool:
        multiples = {"M": QUAD_ROWS, "N": QUAD_COLUMNS, "K": QUAD_TERMS}
        return all(consts[letter] % n == 0 for letter, n in multiples.items())

    def threads(consts: Consts) -> int:
        return int(consts["M"]) // QUAD_ROWS * (int(consts["N"]) // 4)

    return Variant(
        "quads 8x4",
        op,
        op,
        threads,
        constants={"WG": WORKGROUP},
        libs=("grid", "elem4", *product.libs),
        main="matmul/quads",
        flags=product.flags,
        needs=frozenset({"subgroups"}),
        fits=fits,
        is_likely=_never,
    )


def _swapped(row: Variant, change: str, libs: Mapping[str, str]) -> Variant:
    """Return a row with some of its libraries replaced."""
    names = [libs.get(name, name) for name in row.libs]
    kept = tuple(name for name in names if name)
    return replace(row, name=f"{row.name} {change}", libs=kept)


def _halved(row: Variant, change: str, lib: str, tol: Tol) -> Variant:
    """Return a row that keeps its operands in half the workgroup memory."""
    return replace(
        _swapped(row, change, {"staged_f32": lib}),
        tol=tol,
        workgroup_bytes=lambda consts: row.workgroup_bytes(consts) // 2,
    )


def _changed(blocking: Blocking) -> list[Variant]:
    """Return a tile with two buffers, with scalar loads and with half precision."""
    row = blocking.variant("matmul_nn", is_likely=_never)
    two = replace(
        row,
        name=f"{row.name} two buffers",
        constants={**row.constants, "BUFFERS": 2},
        workgroup_bytes=lambda consts: 2 * row.workgroup_bytes(consts),
    )
    scalars = {"elem4": "elem1", "xw": "scalars", "whole_sums": ""}
    loads = _swapped(row, "scalar loads", scalars)
    packed = _halved(row, "packed", "staged_packed", _PACKED)
    halves = _halved(row, "f16", "staged_f16", _HALVES)
    return [two, loads, packed, replace(halves, needs=frozenset({"f16"}))]


def sweep_rows() -> list[Variant]:
    """Return the rows of the three plain products."""
    rows: list[Variant] = []
    tiles = 2 * SIDE * SIDE * 4
    for op in PLAIN:
        rows.append(_by_squares(op, "naive", "matmul/naive", 0))
        rows.append(_by_squares(op, "tiled 16x16", "matmul/tiled", tiles))
        rows.append(_quads(op))
        rows += [blocking.variant(op, is_likely=_never) for blocking in _TILES]
    packed = ("tiled 16x16 packed", "matmul/tiled_packed")
    rows.append(replace(_by_squares("matmul_nn", *packed, tiles), tol=_PACKED))
    return rows + [row for blocking in _CHANGED for row in _changed(blocking)]
