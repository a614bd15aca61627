"""The rows of the kernel table that are matrix products.

An op is an epilogue, `wgsl/<op>.wgsl`; how the product is done is a file of
`wgsl/matmul/`, written behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tabgrad.backends.row_variants import WIDTHS
from tabgrad.backends.variant import BASE, WORKGROUP, Consts, Variant
from tabgrad.ops import OPS
from tabgrad.tensors import ITEM_BYTES

TILE = 8  # outputs along each axis of a thread in matmul/direct8.wgsl
SMALL = 32  # the side of tiles that suit all but narrow products
ENOUGH_TILES = 128  # of 64 x 64 and more: with fewer, cores of a large device idle
MANY_TILES = 8 * ENOUGH_TILES  # of 32 x 32, that larger ones do faster
SPLIT_THREADS = (20_000, 64_000)  # of a product in parts: fewer idle, more cost traffic
MAX_PARTS = 16
TILE_BANKS = 8  # quads that workgroup memory hands out at once
FEW_SUMS = 64  # a thread's sums that leave registers for more than them
STAGING = ("staged_f32", "staging")  # libraries of matmul/blocked
TILE_WORKGROUP = 32  # few, since a thread does much: small products still spread out


@dataclass(frozen=True)
class Product:
    """How an op is a matrix product: which operands lie turned, and what it needs."""

    is_km: bool = False  # the first operand is (K, M)
    is_nk: bool = False  # the second operand is (N, K)
    has_columns: bool = False  # sums of the second operand's columns are wanted
    libs: tuple[str, ...] = ("alone", "xw")

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
    "linear_gelu_fwd": Product(libs=("alone", "xw", "gelu")),
    "linear_residual_fwd": Product(),
    "matmul_nt_mul": Product(is_nk=True),
    "linear_bwd_wb": Product(is_km=True, has_columns=True, libs=("alone",)),
    "grouped_linear_bwd_wb": Product(is_km=True, has_columns=True, libs=("members",)),
}


def _members(consts: Consts) -> int:
    return int(consts.get("G", 1))


def _tiles(consts: Consts) -> int:
    tiles = -(-int(consts["M"]) // TILE) * -(-int(consts["N"]) // TILE)
    return _members(consts) * tiles


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
    """A tile BM x BN of slices BK by threads of TM x TN outputs.

    With `parts` over 1 the terms of a tile are split among so many workgroups, and a
    second pass adds the parts up.
    """

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    parts: int = 1

    @property
    def name(self) -> str:
        """What sets it apart from the others."""
        tile = f"{self.bm}x{self.bn}x{self.bk} {self.tm}x{self.tn}"
        return tile if self.parts == 1 else f"{tile} /{self.parts}"

    @property
    def constants(self) -> dict[str, int]:
        """The sizes of `wgsl/matmul/blocked.wgsl`."""
        wide, high = self.bn // self.tn, self.bm // self.tm
        lanes_n = min(8, wide)
        lanes = min(32, wide * high)
        sizes = {"BM": self.bm, "BN": self.bn, "BK": self.bk}
        sizes |= {"TM": self.tm, "TN": self.tn, "WG": wide * high, "BUFFERS": 1}
        return {**sizes, "LANES_N": lanes_n, "LANES_M": lanes // lanes_n}

    def refetches(self, product: Product) -> bool:
        """Return whether the last slice is fetched twice rather than after a branch.

        Whether that pays is up to the driver's compiler: see docs/lab/blocked-products.
        """
        return (product.is_km or product.is_nk) and self.tm * self.tn <= FEW_SUMS

    def workgroup_bytes(self, product: Product) -> int:
        """Return the room of two slices; `wgsl/lib/staging.wgsl` pads turned rows."""
        pad = TILE_BANKS // min(self.bk // 4, TILE_BANKS) * 4
        padded = (not product.is_km) + product.is_nk
        return (self.bm + self.bn + pad * padded) * self.bk * ITEM_BYTES

    def fits(self, consts: Consts) -> bool:
        """Return whether the tile divides a product."""
        terms = self.bk * self.parts
        sizes = [(consts["M"], self.bm), (consts["N"], self.bn), (consts["K"], terms)]
        sizes += [(consts[letter], 4) for letter in "W" if letter in consts]
        return all(size % tile == 0 for size, tile in sizes)

    def is_likely(self, consts: Consts) -> bool:
        """Return whether so many threads suit devices of today."""
        if self.bm < SMALL and not any(consts[letter] % SMALL for letter in "MNK"):
            return False
        if self.parts == 1:
            tiles = self._tiles(consts)
            if self.bm <= SMALL:
                return tiles < MANY_TILES
            return tiles >= ENOUGH_TILES
        fewest, most = SPLIT_THREADS
        is_enough = self._threads(consts) > fewest or self.parts == MAX_PARTS
        return is_enough and self._threads(consts) <= most

    def _tiles(self, consts: Consts) -> int:
        tiles = -(-int(consts["M"]) // self.bm) * -(-int(consts["N"]) // self.bn)
        return _members(consts) * tiles

    def _threads(self, consts: Consts) -> int:
        return self._tiles(consts) * self.parts * self.constants["WG"]

    def variant(
        self, op: str, is_likely: Callable[[Consts], bool] | None = None
    ) -> Variant:
        """Return the row of an op; `is_likely` replaces the blocking's own."""
        product = PRODUCTS[op]
        row = Variant(
            self.name,
            op,
            op,
            self._threads,
            constants=self.constants,
            libs=("elem4", *product.libs, "whole_sums", *STAGING),
            main="matmul/blocked",
            flags={**product.flags, "REFETCHES": self.refetches(product)},
            fits=self.fits,
            is_likely=is_likely or self.is_likely,
            workgroup_bytes=lambda _: self.workgroup_bytes(product),
        )
        return row if self.parts == 1 else self._split(row, product, "elem4")

    def _fits_guarded(self, consts: Consts) -> bool:
        """Return whether no tile divides a product that fills half of this one."""
        is_filled = 2 * consts["M"] > self.bm and 2 * consts["N"] > self.bn
        has_terms = self.parts == 1 or consts["K"] >= self.bk * self.parts
        return is_filled and has_terms and not _divided(consts)

    def guarded(self, op: str) -> Variant:
        """Return the row of an op for sizes that tiles do not divide."""
        product = PRODUCTS[op]
        row = Variant(
            f"{self.name} guarded",
            op,
            op,
            self._threads,
            constants=self.constants,
            libs=("elem1", *product.libs, "whole_sums", *STAGING, "guards"),
            main="matmul/guarded",
            flags=product.flags,
            fits=self._fits_guarded,
            is_likely=self.is_likely,
            workgroup_bytes=lambda _: self.workgroup_bytes(product),
        )
        return row if self.parts == 1 else self._split(row, product, "elem1")

    def _split(self, row: Variant, product: Product, elem: str) -> Variant:
        """Return the two passes: sums of parts of the terms, and their sums."""
        split = {"PARTS": self.parts, "SCRATCH": len(OPS[row.op].args)}
        width = WIDTHS[elem]

        def sums(consts: Consts) -> int:
            return _sums(consts, width)

        last = Variant(
            row.name,
            row.op,
            row.file,
            sums,
            constants={"WG": WORKGROUP, **split},
            libs=("grid", elem, *product.libs, "part_sums"),
            main="matmul/sum_parts",
            flags=product.flags,
        )
        return replace(
            row,
            constants={**row.constants, **split},
            libs=tuple("part_sums" if lib == "whole_sums" else lib for lib in row.libs),
            scratch=lambda c: ITEM_BYTES * width * self.parts * sums(c),
            then=(last,),
        )


def _sums(consts: Consts, width: int) -> int:
    """Return the elements of a product, with the sums of columns as a last row."""
    return _members(consts) * (int(consts["M"]) + 1) * (int(consts["N"]) // width)


# Large tiles for large products, down to tiles that divide narrow ones, and terms split
# in parts where tiles are few: no one of them serves all sizes.
BLOCKINGS = (
    Blocking(128, 128, 16, 8, 16),
    Blocking(128, 128, 16, 8, 8),
    Blocking(64, 64, 16, 8, 8),
    Blocking(64, 64, 16, 8, 4),
    Blocking(64, 64, 32, 8, 4),
    Blocking(32, 32, 32, 4, 4),
    Blocking(16, 16, 16, 4, 4),
    *(Blocking(128, 128, 16, 8, 8, parts) for parts in (2, 4, 8)),
    *(Blocking(64, 64, 16, 8, 8, parts) for parts in (2, 4, 8, MAX_PARTS)),
    *(Blocking(32, 32, 32, 4, 4, parts) for parts in (2, 4, 8, MAX_PARTS)),
    Blocking(16, 16, 16, 4, 4, MAX_PARTS),
)


GUARDED = (
    Blocking(64, 64, 16, 8, 4),
    Blocking(32, 32, 32, 4, 4),
    *(Blocking(32, 32, 32, 4, 4, parts) for parts in (4, MAX_PARTS)),
)


def _divided(consts: Consts) -> bool:
    """Return whether a tile that suits devices divides a product."""
    return any(tile.bm >= SMALL and tile.fits(consts) for tile in BLOCKINGS)


def blocked_rows() -> list[Variant]:
    """Return the blocked rows of every product."""
    whole = [blocking.variant(op) for op in PRODUCTS for blocking in BLOCKINGS]
    return whole + [blocking.guarded(op) for op in PRODUCTS for blocking in GUARDED]
