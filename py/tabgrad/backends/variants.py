"""The table of WGSL kernels that do an op.

Read by the WebGPU backend, the tests and the benchmark, so that no kernel exists that
nobody tests. The base row of an op is its plain definition in WGSL and fits every
call; the other rows are faster where their `needs` and `fits` hold.
"""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.backends.flash_variants import FLASH_VARIANTS
from tabgrad.backends.product_variants import blocked_rows, direct
from tabgrad.backends.quad_variants import QUAD_VARIANTS
from tabgrad.backends.row_variants import ROW_VARIANTS
from tabgrad.backends.sweep_variants import sweep_rows
from tabgrad.backends.variant import (
    BASE,
    LEAST_WORKGROUP_BYTES,
    Consts,
    Variant,
    product_of,
)
from tabgrad.errors import PlanError


def _base(
    op: str,
    threads: Callable[[Consts], int],
    libs: tuple[str, ...] = (),
    main: str | None = None,
) -> Variant:
    return Variant(BASE, op, op, threads, libs=("grid", *libs), main=main)


_ROWS, _SUMS = "rows/norm_rows_plain", "rows/norm_sums_plain"


def _single(op: str, *libs: str) -> Variant:
    return Variant(BASE, op, op, lambda _: 1, {"WG": 1}, libs=("grid", *libs))


VARIANTS: tuple[Variant, ...] = (
    _base("batch_fwd", product_of("R")),
    _single("step_advance"),
    _base("embed_fwd", product_of("R", "C"), ("elem1",)),
    _base("embed_bwd", product_of("C")),
    _base("embed_at_fwd", product_of("C")),
    _base("layernorm_fwd", product_of("R")),
    _base("layernorm_bwd_x", product_of("R"), ("elem1",), _ROWS),
    _base("layernorm_residual_bwd_x", product_of("R"), ("elem1",), _ROWS),
    _base("layernorm_bwd_wb", product_of("C"), ("elem1", "alone"), _SUMS),
    _base(
        "grouped_layernorm_bwd_wb", product_of("G", "C"), ("elem1", "members"), _SUMS
    ),
    direct("matmul_nn"),
    direct("matmul_nt"),
    direct("matmul_tn"),
    direct("linear_fwd"),
    _base("bias_bwd", product_of("N")),
    direct("linear_gelu_fwd"),
    direct("linear_residual_fwd"),
    direct("matmul_nt_mul"),
    direct("linear_bwd_wb"),
    direct("grouped_linear_bwd_wb"),
    _base("attention_fwd", product_of("R", "H"), ("quad",)),
    _base("attention_bwd", product_of("R", "H"), ("quad",)),
    _base("cache_fwd", lambda consts: 2 * product_of("R", "C")(consts)),
    _base("attention_cached_fwd", product_of("H")),
    _base("gelu_fwd", product_of("R", "F"), ("elem1", "gelu")),
    _base("gelu_bwd", product_of("R", "F"), ("elem1", "gelu")),
    _base("residual_fwd", product_of("R", "C"), ("elem1",)),
    _base("residual_bwd", product_of("R", "C"), ("elem1",)),
    _base("xent_fwd", product_of("R")),
    _base("xent_bwd", product_of("R", "V"), ("elem1",)),
    _base("xent_fwd_bwd", product_of("R")),
    _single("loss_mean"),
    _base("sqnorm_fwd", product_of("P")),
    _single("clip_scale", "clipping"),
    _base("adamw_update", product_of("N"), ("elem1",)),
    *ROW_VARIANTS,
    *FLASH_VARIANTS,
    *QUAD_VARIANTS,
    *blocked_rows(),
    *sweep_rows(),
)


def base_variant(op_name: str) -> Variant:
    """Return the plain kernel of an op.

    Raises:
        PlanError: the op has none.
    """
    for variant in VARIANTS:
        if variant.op == op_name and variant.name == BASE:
            return variant
    raise PlanError(f"op {op_name} has no base row in backends/variants.py; add one")


def fitting_variants(
    op_name: str,
    consts: Consts,
    features: frozenset[str] = frozenset(),
    workgroup_bytes: int = LEAST_WORKGROUP_BYTES,
) -> list[Variant]:
    """Return the kernels of an op that can do these sizes, the base row first.

    Args:
        op_name: key of `OPS`.
        consts: sizes and attrs of the call.
        features: of the device.
        workgroup_bytes: most workgroup memory of a kernel on the device.
    """
    rows = [v for v in VARIANTS if v.op == op_name]
    rows.sort(key=lambda row: row.name != BASE)
    return [row for row in rows if row.can_do(consts, features, workgroup_bytes)]
