"""Reverse-mode differentiation: backward calls from each op's `vjp`."""

from __future__ import annotations

from tabgrad.errors import PlanError
from tabgrad.graph import Graph
from tabgrad.ops import OPS, Call, Vjp
from tabgrad.tensors import Role, Tensor


def grad_name(name: str) -> str:
    """Return the name of the gradient of a tensor."""
    return f"d.{name}"


def append_backward(graph: Graph, loss: str) -> None:
    """Append the backward of every call that `loss` depends on.

    The call that makes `loss` seeds the gradient itself (cross-entropy's mean).
    A tensor that is used more than once gets its first gradient written and the
    rest added.

    Raises:
        PlanError: an op on the way has no vjp, or cannot add where it must.
    """
    reached = {loss}
    started: set[str] = set()
    for call in reversed(tuple(graph.calls)):
        if reached.isdisjoint(call.tensors_written()):
            continue
        if not call.op.vjp:
            continue  # gathers token ids: nothing before it has a gradient
        for vjp in call.op.vjp:
            _append_vjp(graph, call, vjp, started)
        reached.update(call.tensors_read())


def _append_vjp(graph: Graph, call: Call, vjp: Vjp, started: set[str]) -> None:
    op = OPS[vjp.op]
    args, adds = {}, []
    for arg in op.args:
        source = vjp.bind.get(arg.name, arg.name)
        if source in call.args:
            args[arg.name] = call.args[source]
            continue
        if not source.startswith("d") or source[1:] not in call.args:
            raise PlanError(f"{call.op.name}: its vjp {op.name} wants {source}")
        primal = graph.tensors[call.args[source[1:]]]
        name = grad_name(primal.name)
        args[arg.name] = name
        if arg.access == "read":
            if name not in started:
                raise PlanError(f"{op.name}: {name} is read before it is written")
            continue
        if name in started:
            adds.append(arg.name)
        role: Role = "grad" if primal.role == "param" else "act"
        graph.add(Tensor(name, primal.shape, "f32", role))
        started.add(name)
    consts = {k: call.consts[k] for k in op.consts if k in call.consts}
    attrs = {k: v for k, v in consts.items() if k in op.attrs}
    graph.call(op.name, args, attrs, adds)
