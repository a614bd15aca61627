"""Attention by tiles that never leave the workgroup."""

from __future__ import annotations

from dataclasses import replace

from tabgrad.backends.variant import ELEMENT_BYTES, Consts, Variant, product_of

QUAD_BYTES = 16
MOST_BYTES = 49_152  # of workgroup memory, on the devices of today


def _flash(op: str, own: int, other: int) -> Variant:
    """Return the row of the table for tiles of `own` against `other` rows."""
    is_bwd = op == "attention_bwd"
    threads = own * other // 16

    def count(consts: Consts) -> int:
        windows = int(consts["R"]) // int(consts["T"])
        tiles = -(-int(consts["T"]) // own)
        return windows * int(consts["H"]) * tiles * threads * (2 if is_bwd else 1)

    def n_bytes(consts: Consts) -> int:
        depth_quads = int(consts["C"]) // int(consts["H"]) // 4
        own_parts, score_parts = (2, 2) if is_bwd else (1, 1)
        rows = own_parts * own + 2 * other
        quads = rows * (depth_quads + 1) + score_parts * own * (other // 4 + 1)
        rest = 2 * ELEMENT_BYTES * max(own, other) if is_bwd else QUAD_BYTES * threads
        return QUAD_BYTES * quads + rest

    def fits(consts: Consts) -> bool:
        depth = int(consts["C"]) // int(consts["H"])
        return depth % 4 == 0 and n_bytes(consts) <= MOST_BYTES

    main = Variant(
        f"flash{own}x{other}",
        op,
        f"attention/{op}",
        count,
        {"WG": threads, "OWN": own, "OTHER": other},
        libs=(
            "grid",
            "elem4",
            "flash",
            "parts",
            "fetch",
            *(("walk",) if is_bwd else ()),
        ),
        fits=fits,
        is_spare=True,
        workgroup_bytes=n_bytes,
    )
    return after_delta(main) if is_bwd else main


def after_delta(main: Variant) -> Variant:
    """Return the two passes of a backward: delta of each query, and all else."""
    n_rows = product_of("R", "H")
    file = "attention/attention_bwd_delta"
    return replace(
        Variant(main.name, main.op, file, n_rows, libs=("grid", "elem4")),
        needs=main.needs,
        fits=main.fits,
        is_spare=main.is_spare,
        workgroup_bytes=main.workgroup_bytes,
        scratch=lambda consts: ELEMENT_BYTES * n_rows(consts),
        then=(main,),
    )


FLASH_VARIANTS: tuple[Variant, ...] = (
    _flash("attention_fwd", 16, 16),
    _flash("attention_fwd", 32, 32),
    _flash("attention_fwd", 32, 64),
    _flash("attention_fwd", 64, 32),
    _flash("attention_fwd", 64, 64),
    _flash("attention_bwd", 16, 16),
    _flash("attention_bwd", 32, 32),
    _flash("attention_bwd", 64, 32),
)
