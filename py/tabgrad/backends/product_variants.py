"""The rows of the kernel table that are matrix products.

An op is an epilogue, `wgsl/<op>.wgsl`; how the product is done is a file of
`wgsl/matmul/`, written behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tabgrad.backends.variant import BASE, Consts, Variant
from tabgrad.tensors import ITEM_BYTES

TILE = 8  # outputs along each axis of a thread in matmul/direct8.wgsl
TILE_WORKGROUP = 32  # few, since a thread does much: small products still spread out


@dataclass(frozen=True)
class Product:
    """How an op is a matrix product: which operands lie turned, and what it needs."""

    is_km: bool = False  # the first operand is (K, M)
    is_nk: bool = False  # the second operand is (N, K)
    has_columns: bool = False  # sums of the second operand's columns are wanted
    libs: tuple[str, ...] = ("xw",)

    @property
    def flags(self) -> dict[str, bool]:
        """The switches of the files in `wgsl/matmul/`."""
        flags = {"X_IS_KM": self.is_km, "W_IS_NK": self.is_nk}
        return {**flags, "HAS_COLUMNS": self.has_columns}


PRODUCTS = {
    "matmul_nn": Product(),
    "matmul_nt": Product(is_nk=True),
    "matmul_tn": Product(is_km=True),
    "linear_fwd": Product(),
    "linear_gelu_fwd": Product(libs=("xw", "erfc")),
    "linear_residual_fwd": Product(),
    "matmul_nt_gelu_bwd": Product(is_nk=True, libs=("xw", "erfc")),
    "linear_bwd_wb": Product(is_km=True, has_columns=True, libs=()),
}


def _tiles(consts: Consts) -> int:
    return -(-int(consts["M"]) // TILE) * -(-int(consts["N"]) // TILE)


def direct(op: str) -> Variant:
    """Return the base row of a product."""
    product = PRODUCTS[op]
    return Variant(
        BASE,
        op,
        op,
        _tiles,
        constants={"WG": TILE_WORKGROUP, "TILE": TILE},
        libs=("grid", "elem1", *product.libs),
        main="matmul/direct8",
        flags=product.flags,
    )


@dataclass(frozen=True)
class Blocking:
    """A tile BM x BN of slices BK by threads of TM x TN outputs."""

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int

    @property
    def constants(self) -> dict[str, int]:
        """The sizes of `wgsl/matmul/blocked.wgsl`."""
        wide, high = self.bn // self.tn, self.bm // self.tm
        lanes_n = min(8, wide)
        lanes = min(32, wide * high)
        sizes = {"BM": self.bm, "BN": self.bn, "BK": self.bk}
        sizes |= {"TM": self.tm, "TN": self.tn, "WG": wide * high}
        return {**sizes, "LANES_N": lanes_n, "LANES_M": lanes // lanes_n}

    def fits(self, consts: Consts) -> bool:
        """Return whether the tile divides a product."""
        sizes = ((consts["M"], self.bm), (consts["N"], self.bn), (consts["K"], self.bk))
        return all(size % tile == 0 for size, tile in sizes)

    def threads(self, consts: Consts) -> int:
        """Return the threads of all tiles."""
        tiles = int(consts["M"]) // self.bm * (int(consts["N"]) // self.bn)
        return tiles * self.constants["WG"]

    def variant(self, op: str) -> Variant:
        """Return the row of an op."""
        product = PRODUCTS[op]
        return Variant(
            f"{self.bm}x{self.bn}x{self.bk} {self.tm}x{self.tn}",
            op,
            op,
            self.threads,
            constants=self.constants,
            libs=("elem4", *product.libs, "staging"),
            main="matmul/blocked",
            flags=product.flags,
            fits=self.fits,
            workgroup_bytes=lambda _: (self.bm + self.bn) * self.bk * ITEM_BYTES,
        )


# Large tiles for large products, down to tiles that divide narrow ones: no one of them
# serves all sizes.
BLOCKINGS = (
    Blocking(128, 128, 16, 16, 8),
    Blocking(128, 128, 16, 8, 8),
    Blocking(64, 128, 16, 8, 4),
    Blocking(64, 64, 16, 8, 4),
    Blocking(64, 64, 32, 4, 4),
    Blocking(64, 32, 32, 4, 4),
    Blocking(32, 64, 32, 4, 4),
    Blocking(32, 32, 32, 4, 4),
    Blocking(16, 32, 32, 4, 4),
    Blocking(32, 16, 16, 4, 4),
    Blocking(16, 16, 16, 4, 4),
)


def blocked_rows() -> list[Variant]:
    """Return the blocked rows of every product."""
    return [blocking.variant(op) for op in PRODUCTS for blocking in BLOCKINGS]
