"""Fast kernels of the ops that are no products: rows, columns, sums and elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tabgrad.backends.variant import (
    ELEMENT_BYTES,
    WORKGROUP,
    Consts,
    Variant,
    product_of,
)

WG = 256  # threads; the most that every device has
MAX_HELD = 8  # elements of a row that a thread keeps in registers
ANY_HELD = 1 << 30  # the kernel keeps no row
LONG, MAX_LANES_OF_SHORT = (
    512,
    64,
)  # elements of a row; more lanes suit longer ones only
WIDTHS = {"elem1": 1, "elem4": 4}
_RADIX = {4: 4, 8: 8, 16: 4, 32: 8, 64: 8, 128: 16, 256: 16}  # lanes -> partial results


def quads(
    op: str, *letters: str, libs: tuple[str, ...] = (), whole: str = ""
) -> Variant:
    """Return the row of an op on elements that does four numbers a thread.

    Args:
        op: key of `OPS`.
        letters: axes of the elements.
        libs: files of `wgsl/lib/` beyond elem4, as the base row has.
        whole: letter of an axis that must be a multiple of four; if "", the product
            of all need be.
    """
    count = product_of(*letters)
    fitting = product_of(whole) if whole else count
    return Variant(
        "quads",
        op,
        op,
        lambda consts: count(consts) // 4,
        libs=("grid", "elem4", *libs),
        fits=lambda consts: fitting(consts) % 4 == 0,
    )


def _lanes(lanes: int, threads: int) -> dict[str, int]:
    return {"WG": threads, "LANES": lanes, "RADIX": _RADIX[lanes]}


def row(
    op: str,
    axis: str,
    elem: str,
    lanes: int,
    *,
    libs: tuple[str, ...] = (),
    max_held: int = MAX_HELD,
    main: str | None = None,
) -> Variant:
    """Return a row of the table where some lanes share each row of an array.

    Args:
        op: key of `OPS`; its rows are R.
        axis: letter of the row's length.
        elem: `elem1` or `elem4`.
        lanes: threads of a row.
        libs: more files of `wgsl/lib/`.
        max_held: most elements that a thread keeps.
        main: file of the rows, where that of the op holds the ends alone.
    """
    width = WIDTHS[elem]

    def fits(consts: Consts) -> bool:
        length = int(consts[axis])
        return length % width == 0 and length <= width * lanes * max_held

    def is_likely(consts: Consts) -> bool:
        length = int(consts[axis])
        is_beaten_by_quads = max_held == ANY_HELD and width == 1 and length % 4 == 0
        is_short = lanes > MAX_LANES_OF_SHORT and length < width * LONG
        return not is_beaten_by_quads and not is_short

    wg = max(lanes, WORKGROUP)
    return Variant(
        f"{elem}_lanes{lanes}",
        op,
        op if main else f"rows/{op}",
        lambda consts: int(consts["R"]) * lanes,
        _lanes(lanes, wg),
        libs=("grid", elem, *libs, "lanes"),
        main=main,
        fits=fits,
        is_likely=is_likely,
        workgroup_bytes=lambda _: 2 * ELEMENT_BYTES * wg,
    )


def strip(
    op: str,
    axis: str,
    elem: str,
    n_columns: int,
    *,
    whole: tuple[str, ...] = (),
    threads: Callable[[int, Consts], int] = lambda n_strips, _: n_strips * WG,
    libs: tuple[str, ...] = (),
    main: str | None = None,
) -> Variant:
    """Return a row of the table where a workgroup owns a strip of columns.

    Args:
        op: key of `OPS`.
        axis: letter of the columns.
        elem: `elem1` or `elem4`.
        n_columns: of elements, in a strip.
        whole: letters of other axes that must be whole elements.
        threads: strips, sizes -> threads that have work.
        libs: more files of `wgsl/lib/`.
        main: file of the sums, where that of the op holds the ends alone.
    """
    width = WIDTHS[elem]

    def fits(consts: Consts) -> bool:
        return all(int(consts[letter]) % width == 0 for letter in (axis, *whole))

    def count(consts: Consts) -> int:
        return threads(-(-int(consts[axis]) // (width * n_columns)), consts)

    return Variant(
        f"{elem}_strip{n_columns}",
        op,
        op if main else f"rows/{op}",
        count,
        {**_lanes(WG // n_columns, WG), "STRIP": n_columns},
        libs=("grid", elem, *libs, "lanes"),
        main=main,
        fits=fits,
        workgroup_bytes=lambda _: 2 * (width + 1) * ELEMENT_BYTES * WG,
    )


def _embed_bwd(elem: str, n_columns: int) -> Variant:
    def threads(n_strips: int, consts: Consts) -> int:
        elements = int(consts["T"]) * int(consts["C"]) // WIDTHS[elem]
        return int(consts["V"]) * n_strips * WG + elements

    libs = ("rows_of_id",)
    return strip("embed_bwd", "C", elem, n_columns, threads=threads, libs=libs)


def _embed_bwd_rows(elem: str, n_columns: int) -> Variant:
    """Return the row for more ids than rows, which looks at no id without a row."""
    own = _embed_bwd(elem, n_columns)

    def threads(consts: Consts) -> int:
        strips = -(-int(consts["C"]) // (WIDTHS[elem] * n_columns))
        return int(consts["R"]) * strips * WG

    last = replace(own, file="rows/embed_bwd_rows", threads=threads)
    return replace(
        own,
        name=f"{own.name} rows",
        file="rows/embed_bwd_rest",
        threads=lambda c: int(c["T"]) * int(c["C"]) // WIDTHS[elem],
        fits=lambda consts: own.fits(consts) and consts["V"] > consts["R"],
        then=(last,),
    )


def _norm_rows(op: str) -> tuple[Variant, ...]:
    """Return the rows of an op that is the gradient of a norm's input."""
    kinds = (("elem4", 16), ("elem4", 64), ("elem4", 256), ("elem1", 64))
    return tuple(row(op, "C", *kind, main="rows/norm_rows") for kind in kinds)


def _norm_sums(op: str, *letters: str) -> tuple[Variant, ...]:
    """Return the rows of an op that sums over rows for a norm's weight and bias."""
    members = product_of(*(letter for letter in letters if letter == "G"))
    given: dict[str, Any] = {
        "whole": tuple(letter for letter in letters if letter == "W"),
        "threads": lambda n_strips, consts: members(consts) * n_strips * WG,
        "libs": ("members" if letters else "alone",),
        "main": "rows/norm_sums",
    }
    kinds = (("elem4", 2), ("elem4", 8), ("elem1", 8))
    return tuple(strip(op, "C", *kind, **given) for kind in kinds)


def single(op: str, *libs: str) -> Variant:
    """Return the row of an op that one workgroup does."""
    constants = _lanes(WG, WG)
    libs = ("grid", *libs, "lanes")
    return Variant(
        "workgroup",
        op,
        f"rows/{op}",
        lambda _: WG,
        constants,
        libs=libs,
        workgroup_bytes=lambda _: ELEMENT_BYTES * WG,
    )


ROW_VARIANTS: tuple[Variant, ...] = (
    quads("embed_fwd", "R", "C", whole="C"),
    _embed_bwd("elem4", 32),
    _embed_bwd("elem4", 64),
    _embed_bwd("elem1", 32),
    _embed_bwd_rows("elem4", 32),
    _embed_bwd_rows("elem1", 32),
    row("layernorm_fwd", "C", "elem4", 16),
    row("layernorm_fwd", "C", "elem4", 64),
    row("layernorm_fwd", "C", "elem4", 256),
    row("layernorm_fwd", "C", "elem1", 64),
    *_norm_rows("layernorm_bwd_x"),
    *_norm_rows("layernorm_residual_bwd_x"),
    *_norm_sums("layernorm_bwd_wb"),
    *_norm_sums("grouped_layernorm_bwd_wb", "G", "W"),
    strip("bias_bwd", "N", "elem4", 2),
    strip("bias_bwd", "N", "elem4", 8),
    strip("bias_bwd", "N", "elem1", 8),
    quads("gelu_fwd", "R", "F", libs=("gelu",)),
    quads("gelu_bwd", "R", "F", libs=("gelu",)),
    quads("residual_fwd", "R", "C"),
    quads("residual_bwd", "R", "C"),
    row("xent_fwd", "V", "elem4", 64, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd", "V", "elem4", 256, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd", "V", "elem1", 64, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd", "V", "elem1", 256, libs=("exps",), max_held=ANY_HELD),
    quads("xent_bwd", "R", "V", whole="V"),
    row("xent_fwd_bwd", "V", "elem4", 64, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd_bwd", "V", "elem4", 256, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd_bwd", "V", "elem1", 64, libs=("exps",), max_held=ANY_HELD),
    row("xent_fwd_bwd", "V", "elem1", 256, libs=("exps",), max_held=ANY_HELD),
    single("loss_mean"),
    strip("sqnorm_fwd", "P", "elem4", 2, whole=("N",)),
    strip("sqnorm_fwd", "P", "elem1", 8),
    single("clip_scale", "clipping"),
    quads("adamw_update", "N"),
)
