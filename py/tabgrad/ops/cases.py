"""Test cases of every op: sizes at the edges of tiles, and inputs that make sense.

Read by the tests of every backend and by the self-test at start-up.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import product

import numpy as np

from tabgrad.config import CLIP_EPS, LAYERNORM_EPS
from tabgrad.dims import resolve_shape
from tabgrad.errors import PlanError
from tabgrad.ops import Call, Const, Op
from tabgrad.ops.attention import attention_fwd
from tabgrad.ops.optim import HALTED
from tabgrad.ops.xent import xent_fwd
from tabgrad.tensors import Array, Tensor

Consts = Mapping[str, Const]

TILE = 8  # outputs a thread computes along each axis in the base matmuls
WORKGROUP = 64
EDGES = (1, TILE - 1, TILE, TILE + 1, 13, 2 * TILE)
LONG_EDGES = (1, WORKGROUP - 1, WORKGROUP, WORKGROUP + 1, 1031)
ROWS_PAST_ONE_DISPATCH = (65_535, 65_536, 65_537)


def _matmuls() -> Iterable[Consts]:
    yield from ({"M": m, "N": n, "K": 5} for m, n in product(EDGES, EDGES))
    yield from ({"M": 9, "N": 10, "K": k} for k in EDGES)
    yield {"M": 67, "N": 131, "K": 257}
    yield {"M": 9, "N": 10, "K": 2049}  # more than the CPU engine packs at once
    # few rows: paths of their own on the CPU engine
    yield {"M": 7, "N": 40, "K": 150}
    yield {"M": 15, "N": 71, "K": 31}
    # next to multiples of the tiles of the CPU engine: 4 and 6 rows, 8 and 16 columns
    yield from (
        {"M": m, "N": n, "K": 3} for m, n in [(3, 15), (5, 17), (6, 31), (11, 5)]
    )
    yield from ({"M": m, "N": n, "K": 9} for m, n in [(12, 16), (25, 33), (95, 97)])
    # next to multiples of the tiles of kernels that guard edges
    yield {"M": 31, "N": 33, "K": 31}
    yield {"M": 33, "N": 31, "K": 33}
    yield {"M": 65, "N": 63, "K": 17}
    yield {"M": 33, "N": 65, "K": 530}
    # multiples of the tiles of faster kernels: one tile, several, several slices
    yield {"M": 48, "N": 16, "K": 16}
    yield {"M": 64, "N": 64, "K": 64}
    yield {"M": 128, "N": 256, "K": 32}
    yield {"M": 128, "N": 128, "K": 512}  # terms split in up to 16 parts
    yield {"M": 256, "N": 128, "K": 32}


def _grouped_products() -> Iterable[Consts]:
    yield {"G": 1, "M": 9, "N": 10, "K": 5, "W": 64}
    yield {"G": 3, "M": 7, "N": 13, "K": 17, "W": 16}
    yield {"G": 2, "M": 67, "N": 131, "K": 65, "W": 192}
    yield {"G": 2, "M": 33, "N": 63, "K": 33, "W": 64}
    yield {"G": 2, "M": 35, "N": 33, "K": 515, "W": 64}
    yield {"G": 2, "M": 11, "N": 17, "K": 5, "W": 64}
    yield {"G": 3, "M": 48, "N": 16, "K": 16, "W": 64}
    yield {"G": 2, "M": 64, "N": 64, "K": 64, "W": 64}
    yield {"G": 3, "M": 32, "N": 96, "K": 512, "W": 128}
    yield {"G": 2, "M": 128, "N": 128, "K": 512, "W": 128}
    yield {"G": 2, "M": 256, "N": 128, "K": 32, "W": 128}


def _grouped_rows() -> Iterable[Consts]:
    for members, r, c, w in [(1, 5, 2, 2), (3, 65, 13, 64), (2, 257, 96, 128)]:
        yield {"G": members, "R": r, "C": c, "W": w}
    yield {"G": 5, "R": 16, "C": 48, "W": 64}
    yield {"G": 2, "R": 7, "C": 4, "W": 64}
    yield {"G": 2, "R": 9, "C": 77, "W": 128}
    yield {"G": 2, "R": 3, "C": 1284, "W": 1344}


def _rows(letter: str) -> Iterable[Consts]:
    yield from ({"R": r, letter: c} for r in (1, 5, 65) for c in (1, 2, 13, 48, 130))
    yield {"R": 7, letter: 4}
    yield {"R": 9, letter: 77}  # what is left after blocks of 16: three fours and one
    yield {"R": 257, letter: 96}
    yield {"R": 3, letter: 1284}  # more than a thread of a workgroup holds at once


def _tall_rows(letter: str) -> Iterable[Consts]:
    yield from _rows(letter)
    # 5 wide: two nearly equal numbers would make rstd blow up rounding
    yield from ({"R": r, letter: 5} for r in ROWS_PAST_ONE_DISPATCH)


def _attention() -> Iterable[Consts]:
    shapes = [(1, 1, 1, 1), (2, 3, 8, 4), (3, 2, 13, 5), (1, 1, 33, 16)]
    shapes += [(2, 2, 17, 32), (1, 2, 9, 64), (1, 1, 5, 128), (2, 8, 64, 8)]
    shapes += [(1, 2, 31, 12), (1, 1, 32, 16), (2, 2, 65, 32), (1, 1, 97, 64)]
    shapes += [(2, 2, 33, 13), (1, 3, 65, 25), (2, 1, 31, 50)]  # no whole quads
    for batch, heads, time, depth in shapes:
        yield {"R": batch * time, "C": heads * depth, "H": heads, "T": time}


def _cached() -> Iterable[Consts]:
    shapes = [(1, 1, 1), (2, 2, 3), (3, 1, 2), (8, 3, 4), (13, 2, 5), (33, 1, 16)]
    shapes += [(17, 2, 32), (9, 2, 64), (5, 1, 128), (64, 8, 8), (97, 1, 64)]
    for time, heads, depth in shapes:
        yield {"T": time, "C": heads * depth, "H": heads}


def _embed() -> Iterable[Consts]:
    for batch, time, width, vocab in [
        (1, 1, 1, 1),
        (2, 5, 13, 3),
        (3, 8, 48, 256),
        (3, 401, 8, 3),
        (7, 5, 4, 5),
        (2, 8, 13, 50_257),  # far more ids than rows
        (5, 401, 4, 2_100),  # more ids than rows, which repeat far apart
    ]:
        yield {"R": batch * time, "T": time, "C": width, "V": vocab}
    yield {"R": 65_536, "T": 32, "C": 2, "V": 70_000}


def _embed_at() -> Iterable[Consts]:
    for time, width, vocab in [(1, 1, 1), (5, 13, 3), (8, 48, 256), (401, 1284, 3)]:
        yield {"T": time, "C": width, "V": vocab}


def _flat(**attrs: Const) -> Iterable[Consts]:
    yield from ({"N": n, **attrs} for n in LONG_EDGES)


def _adamw() -> Iterable[Consts]:
    betas = {"BETA1": 0.9, "BETA2": 0.95, "ADAM_EPS": 1e-8}
    for n in (*LONG_EDGES, 65_535 * WORKGROUP + 1):
        yield {"N": n, "S": 3, "N_DECAY": n // 3, "WEIGHT_DECAY": 0.1, **betas}


def _sqnorm() -> Iterable[Consts]:
    for n in (*LONG_EDGES, 5000):
        yield {"N": n, "P": 1024}
    yield {"N": 100, "P": 7}
    yield {"N": 5000, "P": 8}
    yield {"N": 4096, "P": 1024}
    # 32 columns and 13 or 12 more: the last row ends before, in and with the latter
    yield {"N": 1001, "P": 45}
    yield {"N": 1030, "P": 45}
    yield {"N": 1012, "P": 44}


def _columns() -> Iterable[Consts]:
    yield from ({"M": m, "N": n} for m in (1, 65) for n in LONG_EDGES)
    yield {"M": 257, "N": 36}


def _clip() -> Iterable[Consts]:
    for clip in (0.0, 0.5, 1e6):
        yield from _flat(S=4, GRAD_CLIP=clip, CLIP_EPS=CLIP_EPS)


def _batch() -> Iterable[Consts]:
    for batch, time, n, steps in [(1, 1, 2, 1), (4, 7, 8, 3), (16, 64, 5000, 64)]:
        yield {"R": batch * time, "B": batch, "N": n, "S": steps}


def _with(cases: Iterable[Consts], **attrs: Const) -> Iterable[Consts]:
    yield from ({**case, **attrs} for case in cases)


_CASES: dict[str, Callable[[], Iterable[Consts]]] = {
    "batch_fwd": _batch,
    "step_advance": lambda: [{}],
    "embed_fwd": _embed,
    "embed_bwd": _embed,
    "embed_at_fwd": _embed_at,
    "layernorm_fwd": lambda: _with(_tall_rows("C"), EPS=LAYERNORM_EPS),
    "layernorm_bwd_x": lambda: _tall_rows("C"),
    "layernorm_residual_bwd_x": lambda: _rows("C"),
    "layernorm_bwd_wb": lambda: _rows("C"),
    "matmul_nn": _matmuls,
    "matmul_nt": _matmuls,
    "matmul_tn": _matmuls,
    "linear_fwd": _matmuls,
    "linear_gelu_fwd": _matmuls,
    "linear_residual_fwd": _matmuls,
    "matmul_nt_mul": _matmuls,
    "linear_bwd_wb": _matmuls,
    "xent_fwd_bwd": lambda: _tall_rows("V"),
    "bias_bwd": _columns,
    "attention_fwd": _attention,
    "attention_bwd": _attention,
    "cache_fwd": lambda: _rows("C"),
    "attention_cached_fwd": _cached,
    "gelu_fwd": lambda: _rows("F"),
    "gelu_bwd": lambda: _rows("F"),
    "residual_fwd": lambda: _rows("C"),
    "residual_bwd": lambda: _rows("C"),
    "xent_fwd": lambda: _tall_rows("V"),
    "xent_bwd": lambda: _tall_rows("V"),
    "loss_mean": lambda: ({"R": r, "S": 5} for r in LONG_EDGES),
    "sqnorm_fwd": _sqnorm,
    "clip_scale": _clip,
    "adamw_update": _adamw,
    "grouped_linear_bwd_wb": _grouped_products,
    "grouped_layernorm_bwd_wb": _grouped_rows,
}


def op_cases(op_name: str) -> list[dict[str, Const]]:
    """Return the constants of every case of an op.

    Raises:
        PlanError: the op has no cases; an untested op is not allowed to exist.
    """
    if op_name not in _CASES:
        raise PlanError(f"op {op_name} has no cases in ops/cases.py; add some")
    return [dict(case) for case in _CASES[op_name]()]


# GELU and its gradient at the points where exp or a branch may fail; the far ones in
# the largest case alone, for a tolerance grows with the largest output
_GELU_POINTS = (0.0, -0.0, 0.66, -0.66, 5.6, -5.6)
_GELU_FAR_POINTS = (10, -10, 20, 88, -88, 89, -500, 500)
_GELU_FAR_ROWS = 257


def case_inputs(
    op: Op,
    consts: Mapping[str, Const],
    normals: Callable[[tuple[int, ...]], Array] | None = None,
) -> dict[str, Array]:
    """Return an array for every argument of an op, outputs included.

    Arrays are float32 or uint32, of order one, the same for the same case, and
    consistent where an op needs it (`lse` belongs to its logits). Outputs hold
    what was there before, which only `+=` may show.

    Args:
        op: to give inputs to.
        consts: of the case.
        normals: shape -> normal numbers, where they may be less random and faster.
    """
    rng = np.random.default_rng(zlib.crc32(repr((op.name, dict(consts))).encode()))
    dims = {k: int(consts[k]) for k in op.dims}
    arrays: dict[str, Array] = {}
    for arg in op.args:
        shape = resolve_shape(arg.axes, dims)
        if arg.dtype == "u32":
            high = _id_bound(arg.name, consts)
            arrays[arg.name] = rng.integers(0, high, shape, np.uint32)
        else:
            draw = normals or (lambda shape: rng.standard_normal(shape, np.float32))
            arrays[arg.name] = draw(shape)
    _make_consistent(op, arrays, consts)
    return arrays


def _id_bound(name: str, consts: Mapping[str, Const]) -> int:
    if name == "offsets":
        return int(consts["N"] - consts["R"] // consts["B"])
    if name == "index":
        return int(consts.get("S", 1000))
    return int(consts.get("V", 256))


def _make_consistent(
    op: Op, arrays: dict[str, Array], consts: Mapping[str, Const]
) -> None:
    for name in {"rstd", "partial", "scale"} & set(arrays):
        arrays[name] = np.abs(arrays[name]) + np.float32(0.1)
    if op.name == "xent_bwd":
        arrays["lse"] = xent_fwd(arrays["logits"], arrays["targets"])[1]
    if op.name == "attention_bwd":
        heads, time = int(consts["H"]), int(consts["T"])
        arrays["y"], arrays["lse"] = attention_fwd(arrays["qkv"], heads, time)
    if op.name == "adamw_update":
        arrays["v"] = np.abs(arrays["v"])
        arrays["scalars"] = np.abs(arrays["scalars"]) * np.float32(0.1)
    if op.name == "clip_scale":
        _make_unfit(arrays)
    if op.name == "adamw_update" and consts["N"] == WORKGROUP + 1:
        arrays["scale"][0] = HALTED
    if op.name == "linear_gelu_fwd":  # x w of order one: its error is that of the slope
        arrays["w"] = arrays["w"] * np.float32(int(consts["K"]) ** -0.5)
    if op.name.startswith("gelu"):
        flat = arrays["x"].reshape(-1)
        far = _GELU_FAR_POINTS if consts["R"] == _GELU_FAR_ROWS else ()
        points = np.array((*_GELU_POINTS, *far), np.float32)[: len(flat)]
        flat[: len(points)] = points


def _make_unfit(arrays: dict[str, Array]) -> None:
    """Give clip_scale, at some sizes, what must halt the run."""
    size, at = len(arrays["partial"]), int(arrays["index"][0]) % len(arrays["loss"])
    if size == WORKGROUP - 1:
        arrays["partial"][5] = np.nan
    elif size == WORKGROUP:
        arrays["partial"][3] = np.inf
    elif size == WORKGROUP + 1:
        arrays["scale"][0] = HALTED
    elif size > WORKGROUP + 1:
        arrays["loss"][at] = np.nan


def case_call(
    op: Op, consts: Mapping[str, Const], adds: bool
) -> tuple[Call, dict[str, Tensor]]:
    """Return a call of an op on tensors named after its arguments, all `io`."""
    dims = {k: int(consts[k]) for k in op.dims}
    tensors = {
        arg.name: Tensor(arg.name, resolve_shape(arg.axes, dims), arg.dtype, "io")
        for arg in op.args
    }
    wanted = frozenset(op.adds if adds else ())
    values = {name: consts[name] for name in op.consts}
    return Call(op, {a.name: a.name for a in op.args}, values, wanted), tensors
