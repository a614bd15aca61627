"""Which numbers a program uses as indices, and how large they may be.

A device does not complain of an index out of range: it reads something else. So
token ids and offsets are checked where they are written, on the host.
"""

from __future__ import annotations

from collections.abc import Mapping

from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan
from tabgrad.tensors import Array

_IDS = ("ids", "targets")  # arguments that are below V


def id_bounds(plan: Plan) -> dict[str, int]:
    """Return tensor -> what its elements must be below."""
    bounds: dict[str, int] = {}
    calls = [call for calls in plan.programs.values() for call in calls]
    for call in calls:
        for arg in _IDS:
            if arg in call.args and "V" in call.consts:
                _lower(bounds, call.args[arg], int(call.consts["V"]))
    for call in calls:
        if call.op.name == "batch_fwd":
            _bound_batch(bounds, call)
    return bounds


def _lower(bounds: dict[str, int], tensor: str, bound: int) -> None:
    bounds[tensor] = min(bound, bounds.get(tensor, bound))


def _bound_batch(bounds: dict[str, int], call: Call) -> None:
    """The corpus holds ids of its batches; a window must end inside it."""
    for arg in _IDS:
        if call.args[arg] in bounds:
            _lower(bounds, call.args["corpus"], bounds[call.args[arg]])
    window = int(call.consts["R"]) // int(call.consts["B"])
    _lower(bounds, call.args["offsets"], int(call.consts["N"]) - window)


def check_ids(bounds: Mapping[str, int], tensor: str, values: Array) -> None:
    """Raise BackendError if an element of `values` is out of the tensor's range."""
    if tensor not in bounds or values.size == 0:
        return
    highest, lowest = int(values.max()), int(values.min())
    if highest >= bounds[tensor] or lowest < 0:
        got = highest if highest >= bounds[tensor] else lowest
        raise BackendError(
            f"{tensor}: got the index {got}, wanted 0 to {bounds[tensor] - 1}; was "
            "the text encoded with the tokenizer of this model?"
        )
