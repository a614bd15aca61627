"""Products as others write them, for the bench's sweep to be held against.

No plan takes them by itself: the tuner does not try them.
"""

from __future__ import annotations

from tabgrad.backends.product_variants import PRODUCTS, Blocking
from tabgrad.backends.variant import WORKGROUP, Consts, Variant

SIDE = 16  # of the square that a workgroup of matmul/naive and matmul/tiled makes
PLAIN = ("matmul_nn", "matmul_nt", "matmul_tn")
QUAD_ROWS, QUAD_COLUMNS, QUAD_TERMS = 8, 16, 4  # what matmul/quads wants multiples of

# more tiles of matmul/blocked: the usual 4 x 4, and such as win on other devices
_TILES = (
    Blocking(64, 64, 16, 4, 4),
    Blocking(64, 128, 16, 8, 4),
    Blocking(128, 64, 16, 8, 8),
    Blocking(256, 128, 16, 16, 8),
)


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


def sweep_rows() -> list[Variant]:
    """Return the rows of the three plain products."""
    rows: list[Variant] = []
    for op in PLAIN:
        rows.append(_by_squares(op, "naive", "matmul/naive", 0))
        tiles = 2 * SIDE * SIDE * 4
        rows.append(_by_squares(op, "tiled 16x16", "matmul/tiled", tiles))
        rows.append(_quads(op))
        rows += [blocking.variant(op, is_likely=_never) for blocking in _TILES]
    return rows
