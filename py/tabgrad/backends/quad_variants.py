"""Attention by rows in registers, each shared by the four threads of a quad."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tabgrad.backends.flash_variants import after_delta
from tabgrad.backends.variant import ELEMENT_BYTES, Consts, Variant, product_of


@dataclass(frozen=True)
class Quads:
    """How a workgroup shares rows of a head; see `wgsl/lib/shared_rows.wgsl`.

    Args:
        depth: numbers of a row, 0 past those of a head.
        own: rows that the workgroup owns.
        slots: own rows of a quad.
        splits: groups of quads that share the other rows.
        at_once: other rows that a thread works with at a time.
        elem: `elem4`, or `elem1` for heads whose rows are no whole quads.
    """

    depth: int
    own: int
    slots: int
    splits: int
    at_once: int
    elem: str = field(default="elem4", kw_only=True)

    @property
    def threads(self) -> int:
        """Threads of a workgroup; a tile has a quarter as many other rows."""
        return 4 * self.own // self.slots * self.splits

    @property
    def name(self) -> str:
        """What sets a row of the table apart: own x other x depth of a tile, slots."""
        tile = f"{self.own}x{self.threads // 4}x{self.depth}"
        guarded = "" if self.elem == "elem4" else " guarded"
        return f"quads{tile} {self.slots}x{self.at_once}{guarded}"

    @property
    def libs(self) -> tuple[str, ...]:
        """How its rows are read and written, and how threads share them."""
        heads = "heads4" if self.elem == "elem4" else "heads1"
        return ("grid", self.elem, heads, f"slots{self.slots}", "shared_rows")

    def fits(self, consts: Consts) -> bool:
        """Return whether the rows of a head are this deep, or more than half."""
        depth = int(consts["C"]) // int(consts["H"])
        is_whole = depth % 4 == 0
        is_filled = self.depth < 2 * depth <= 2 * self.depth
        return is_filled and is_whole == (self.elem == "elem4")

    def workgroup_bytes(self, _: Consts) -> int:
        """Return the bytes of a tile, and of two numbers a row of it or of a group."""
        others = self.threads // 4
        kept = max(others, self.splits * self.own)
        return 2 * ELEMENT_BYTES * (others * self.depth + kept)


def _row(op: str, quads: Quads, kinds: int, *libs: str) -> Variant:
    """Return a row for workgroups that own rows of so many kinds."""

    def count(consts: Consts) -> int:
        windows = int(consts["R"]) // int(consts["T"])
        tiles = -(-int(consts["T"]) // quads.own)
        return kinds * windows * int(consts["H"]) * tiles * quads.threads

    return Variant(
        quads.name,
        op,
        f"attention/quads_{op.removeprefix('attention_')}",
        count,
        {
            "WG": quads.threads,
            "OWN": quads.own,
            "DEPTH": quads.depth,
            "AT_ONCE": quads.at_once,
        },
        libs=(*quads.libs, *libs),
        needs=frozenset({"subgroups"}),
        fits=quads.fits,
        workgroup_bytes=quads.workgroup_bytes,
    )


def _fwd(*sizes: int, elem: str = "elem4") -> Variant:
    return _row("attention_fwd", Quads(*sizes, elem=elem), 1, "shared_keys")


def _bwd(*sizes: int, elem: str = "elem4") -> Variant:
    """Return the row that makes delta of its queries itself."""
    row = _row("attention_bwd", Quads(*sizes, elem=elem), 2, "shared_pairs")
    n_rows = product_of("R", "H")
    return replace(
        row,
        flags={"MAKES_DELTA": True},
        scratch=lambda consts: ELEMENT_BYTES * n_rows(consts),
    )


def _bwd_after_delta(*sizes: int) -> Variant:
    """Return the row whose first pass makes delta, for long windows."""
    row = _bwd(*sizes)
    name = f"{row.name} delta"
    return after_delta(replace(row, name=name, flags={"MAKES_DELTA": False}))


QUAD_VARIANTS: tuple[Variant, ...] = (
    _fwd(16, 32, 4, 4, 8),
    _fwd(32, 32, 4, 4, 8),
    _fwd(64, 32, 4, 4, 8),
    _bwd(16, 16, 2, 4, 2),
    _bwd(32, 16, 2, 4, 2),
    _bwd(32, 32, 2, 2, 4),
    _bwd(32, 32, 4, 4, 1),
    _bwd_after_delta(32, 32, 4, 4, 1),
    _bwd_after_delta(64, 32, 2, 2, 2),
    _fwd(16, 32, 4, 4, 8, elem="elem1"),
    _fwd(32, 32, 4, 4, 8, elem="elem1"),
    _fwd(64, 32, 4, 4, 8, elem="elem1"),
    _bwd(16, 16, 2, 4, 2, elem="elem1"),
    _bwd(32, 32, 4, 4, 1, elem="elem1"),
    _bwd(64, 32, 2, 2, 2, elem="elem1"),
)
