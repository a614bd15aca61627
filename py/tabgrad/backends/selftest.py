"""Holds a backend to the references, op by op and case by case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tabgrad.backends.base import Backend
from tabgrad.ops import Call, Const, Op, Tol
from tabgrad.ops.cases import case_call, case_inputs
from tabgrad.plan import single_call_plan
from tabgrad.tensors import Array


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far an output of one case is from its reference.

    `ratio` is the largest error over what the contract allows; up to 1 passes. A
    value that is not finite where the reference is, or the other way round, gives
    infinity.
    """

    op: str
    consts: Mapping[str, Const]
    adds: bool
    arg: str
    ratio: float
    worst_index: int
    got: float
    wanted: float

    @property
    def passes(self) -> bool:
        """Whether the output is as near as the contract wants."""
        return self.ratio <= 1.0

    def __str__(self) -> str:
        """Return op, case, worst index, got and wanted in one line."""
        case = " ".join(f"{k}={v}" for k, v in self.consts.items())
        return (
            f"{self.op} [{case}{' +=' if self.adds else ''}] {self.arg}"
            f"[{self.worst_index}]: got {self.got:.9g}, wanted {self.wanted:.9g}, "
            f"{self.ratio:.3g} of the tolerance"
        )


async def check_case(
    backend: Backend,
    op: Op,
    consts: Mapping[str, Const],
    adds: bool,
    tol: Tol | None = None,
) -> list[Deviation]:
    """Run one call on a backend and return the deviation of each output.

    Args:
        backend: a backend; its current plan is replaced.
        op: what to run.
        consts: a case of `ops.cases`.
        adds: ask for `+=` on every output that allows it.
        tol: in place of the contract's.
    """
    call, tensors = case_call(op, consts, adds)
    inputs = case_inputs(op, consts)
    names = [arg.name for arg in op.outputs]
    await backend.prepare(single_call_plan(call, tensors))
    got = await backend.run("op", 1, inputs, names)
    wanted = reference_outputs(op, consts, inputs, call.adds)
    return [deviation(call, name, got[name], wanted[name], tol) for name in names]


def reference_outputs(
    op: Op,
    consts: Mapping[str, Const],
    inputs: Mapping[str, Array],
    adds: frozenset[str],
) -> dict[str, Array]:
    """Return the outputs of an op in float64, added to the old ones where asked."""
    wide = {
        k: v.astype(np.float64) if v.dtype == np.float32 else v
        for k, v in inputs.items()
    }
    taken = {a.name: wide[a.name] for a in op.args if a.access != "write"}
    with np.errstate(all="ignore"):
        out = op.run_reference(taken, consts)
    return {k: v + wide[k] if k in adds else v for k, v in out.items()}


def deviation(
    call: Call, name: str, got: Array, wanted: Array, tol: Tol | None = None
) -> Deviation:
    """Return how far an output of a call is from its reference.

    `tol` takes the place of the contract's.
    """
    g = got.reshape(-1).astype(np.float64)
    w = np.asarray(wanted).reshape(-1).astype(np.float64)
    tol = tol or call.op.tol
    finite = np.isfinite(w)
    allowed = tol.abs + tol.rel * float(np.abs(w[finite]).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        error = np.abs(g - w)
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    error[~(finite & np.isfinite(g))] = np.inf
    error[same] = 0.0
    at = int(error.argmax())
    worst = float(error[at])
    ratio = 0.0 if worst == 0 else worst / allowed if allowed > 0 else np.inf
    return Deviation(
        op=call.op.name,
        consts=call.consts,
        adds=bool(call.adds),
        arg=name,
        ratio=ratio,
        worst_index=at,
        got=float(g[at]),
        wanted=float(w[at]),
    )
