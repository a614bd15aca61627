"""Holds the outputs of rows to those of the base row on the device itself.

One program does it all. The base row writes into tensors of its own, `wanted`. After a
row has run, each of its outputs is compared with them, and is then as it was before the
row ran, or spoilt where the row does not read it: what the next row leaves out is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabgrad.backends.variant import BASE, Variant
from tabgrad.ops import Call, Const, Op, Tol
from tabgrad.tensors import Array, Tensor

SHARES = 1 << 13  # threads that compare an output
SPOILT = 3e38
HOLD = "hold"  # the program
_WORKGROUP = 64
_WANTED, _BEFORE, _FOUND = "wanted.", "before.", "found."


def _deviation(
    before: Array, wanted: Array, got: Array, P: int, RESTORES: int
) -> tuple[Array, Array]:
    """Return what `got` is afterwards, and errors and largest numbers by shares."""
    finite = np.isfinite(wanted)
    with np.errstate(all="ignore"):
        error = np.abs(got - wanted)
    error[~(finite & np.isfinite(got))] = SPOILT
    found = np.zeros(P, wanted.dtype)
    share = np.arange(wanted.size) % (P // 2)
    np.maximum.at(found, share, error)
    np.maximum.at(found, P // 2 + share, np.where(finite, np.abs(wanted), 0))
    return (before if RESTORES else np.full_like(got, SPOILT)), found


# No op of a plan, as the probes: nothing is held to it but the rows of others.
DEVIATION = Op(
    "deviation",
    reads={"before": "N", "wanted": "N"},
    updates={"got": "N"},
    writes={"found": "P"},
    attrs=("RESTORES",),
    reference=_deviation,
)
DEVIATION_SIZES: dict[str, Const] = {"N": 1000, "P": 2 * SHARES, "RESTORES": 1}
DEVIATION_ROW = Variant(
    BASE,
    DEVIATION.name,
    "probe/deviation",
    lambda consts: int(consts["P"]) // 2,
    {"WG": _WORKGROUP},
)


@dataclass(frozen=True)
class RowCheck:
    """What holds the rows of a call to its base row.

    Args:
        call: what the rows do.
        tensors: of the call, by name.
        rows: of the call.
    """

    call: Call
    tensors: Mapping[str, Tensor]
    rows: Sequence[Variant]

    @property
    def is_possible(self) -> bool:
        """Whether there is what to hold, to what, and the kernel can read it."""
        outputs = [self.tensors[name] for name in self.call.tensors_written()]
        has_base = any(row.name == BASE for row in self.rows)
        is_float = all(tensor.dtype == "f32" for tensor in outputs)
        return has_base and len(self.rows) > 1 and is_float

    @property
    def _kept(self) -> set[str]:
        """Outputs whose old values count."""
        return {*self.call.tensors_written()} & {*self.call.tensors_read()}

    def founds(self, row: str) -> list[str]:
        """Return the tensors with what is found of a row, one for each output."""
        return [f"{_FOUND}{row}.{name}" for name in self.call.tensors_written()]

    def more_tensors(self) -> dict[str, Tensor]:
        """Return the tensors that the check needs beside those of the call."""
        if not self.is_possible:
            return {}
        written = self.call.tensors_written()
        names = [_WANTED + name for name in written]
        names += [_BEFORE + name for name in sorted(self._kept)]
        same = {n: replace(self.tensors[n.partition(".")[2]], name=n) for n in names}
        founds = [name for row in self.rows for name in self.founds(row.name)]
        return {**same, **{n: Tensor(n, (2 * SHARES,), role="io") for n in founds}}

    def program(self) -> list[tuple[Call, Variant]]:
        """Return the calls of HOLD and the row of each; no two calls are the same."""
        if not self.is_possible:
            return []
        (base,) = (row for row in self.rows if row.name == BASE)
        others = [row for row in self.rows if row is not base]
        own = {name: _WANTED + name for name in self.call.tensors_written()}
        args = {arg: own.get(name, name) for arg, name in self.call.args.items()}
        steps = [(replace(self.call, args=args), base), *self._compare(base)]
        for row in others:
            steps += [(replace(self.call), row), *self._compare(row)]
        return steps

    def _compare(self, row: Variant) -> list[tuple[Call, Variant]]:
        """Return what compares the outputs and spoils them; the base row has none."""
        steps = []
        written = self.call.tensors_written()
        for name, found in zip(written, self.founds(row.name), strict=True):
            is_kept = name in self._kept
            args = {
                "before": (_BEFORE if is_kept else _WANTED) + name,
                "wanted": _WANTED + name,
                "got": name,
                "found": found,
            }
            # N is asked of the binding: one kernel is compiled, not one a size
            sizes = {**DEVIATION_SIZES, "RESTORES": int(is_kept)}
            steps.append((Call(DEVIATION, args, sizes), DEVIATION_ROW))
        return steps

    def inputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return what the tensors beside the call's hold, of what its own hold."""
        kept = sorted(self._kept) if self.is_possible else []
        return {
            kind + name: inputs[name] for name in kept for kind in (_WANTED, _BEFORE)
        }


def is_near(found: Array, tol: Tol) -> bool:
    """Return whether an output is plainly right, by what is found of it."""
    error, largest = found.reshape(2, -1).max(axis=1)
    return bool(error <= tol.abs + tol.rel * float(largest))
