"""Gathers the weight gradients of all layers into calls that do them together.

They wait at the end of the backward pass, so that what they read must stay: the
gradient of the residual stream gets a tensor of its own at each norm, and the inputs
of a group lie one after the other, in one storage. (So a call may not read one of them
and write another: the norms of a layer are in two groups.) The numbers are the same; a
device with many cores is filled by a group where one layer leaves it idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tabgrad.graph import Graph
from tabgrad.ops import OPS, Call
from tabgrad.tensors import ITEM_BYTES, Tensor

GROUPED = {
    "linear_bwd_wb": "grouped_linear_bwd_wb",
    "layernorm_bwd_wb": "grouped_layernorm_bwd_wb",
}
_AFTER = "sqnorm_fwd"  # reads all gradients of weights


@dataclass(frozen=True)
class Space:
    """Where tensors may lie.

    Args:
        starts: gradient of a weight -> number of its page, and byte offset there.
        align: bytes that offsets are multiples of.
        limit: most bytes of a stack.
    """

    starts: Mapping[str, tuple[int, int]]
    align: int
    limit: int

    def step(self, tensor: Tensor) -> int:
        """Return the bytes from a tensor to the next of its stack."""
        return -(-tensor.n_bytes // self.align) * self.align

    def is_next(self, stack: Sequence[Tensor], tensor: Tensor) -> bool:
        """Return whether a tensor can follow those of a stack."""
        step, start = self.step(tensor), self.starts.get(tensor.name)
        if (len(stack) + 1) * step > self.limit:
            return False
        if start is None:
            return tensor.role == "act" and step == tensor.n_bytes
        page, offset = self.starts[stack[-1].name]
        is_whole = step == tensor.n_bytes or len(tensor.shape) == 1
        return is_whole and start == (page, offset + step)


def group(
    calls: Iterable[Call], tensors: dict[str, Tensor], space: Space
) -> tuple[tuple[Call, ...], dict[str, tuple[str, ...]]]:
    """Return a fused training program with grouped calls, and their stacks.

    Args:
        calls: the program.
        tensors: the plan's; stacks and new activations are added.
        space: where they may lie.

    Returns:
        The program, and name of a stack -> its members, which must lie one after
        the other where the stack starts.
    """
    lasting = _lasting(calls, tensors)
    waiting = [call for call in lasting if _waits(call)]
    chain = [call for call in lasting if not _waits(call)]
    at = next(i for i, call in enumerate(chain) if call.op.name == _AFTER)
    stacks: dict[str, tuple[str, ...]] = {}
    gathered: list[Call] = []
    for members in _groups(waiting, tensors, space):
        if len(members) > 1:
            gathered.append(_together(members, tensors, space, stacks))
        else:
            gathered += members
    return (*chain[:at], *gathered, *chain[at:]), stacks


def _waits(call: Call) -> bool:
    return call.op.name in GROUPED and not call.adds


def _lasting(calls: Iterable[Call], tensors: dict[str, Tensor]) -> list[Call]:
    """Give the residual gradient a new tensor wherever a norm adds to it."""
    graph = Graph(tensors)
    now: dict[str, str] = {}
    for call in calls:
        args = {arg: now.get(name, name) for arg, name in call.args.items()}
        if call.op.name == "layernorm_bwd_x" and call.adds:
            old = call.args["dx"]
            now[old] = f"{old}.{len(graph.calls)}"
            given = {**args, "a": args["dx"], "dx": now[old]}
            graph.call("layernorm_residual_bwd_x", given)
        else:
            graph.calls.append(replace(call, args=args))
    return graph.calls


def _groups(
    calls: Iterable[Call], tensors: Mapping[str, Tensor], space: Space
) -> list[list[Call]]:
    """Return calls that can be done together, in the order of their gradients."""

    def kind(call: Call) -> str:
        return f"{call.op.name} {dict(call.consts)}"

    def start(call: Call) -> tuple[str, tuple[int, int]]:
        return kind(call), space.starts[call.tensors_written()[0]]

    groups: list[list[Call]] = []
    for call in sorted(calls, key=start):
        last = groups[-1] if groups else []
        stacks = {
            arg: [tensors[member.args[arg]] for member in last] for arg in call.args
        }
        if (
            last
            and kind(call) == kind(last[0])
            and all(space.is_next(stacks[a], tensors[t]) for a, t in call.args.items())
        ):
            last.append(call)
        else:
            groups.append([call])
    return groups


def _together(
    members: Sequence[Call],
    tensors: dict[str, Tensor],
    space: Space,
    stacks: dict[str, tuple[str, ...]],
) -> Call:
    """Return the one call that does all members, and add its stacks."""
    op = OPS[GROUPED[members[0].op.name]]
    args: dict[str, str] = {}
    for arg in op.args:
        names = tuple(call.args[arg.name] for call in members)
        tensor = tensors[names[0]]
        is_vector = len(tensor.shape) == 1
        row = (space.step(tensor) // ITEM_BYTES,) if is_vector else tensor.shape
        args[arg.name] = name = f"all.{names[0]}"
        tensors[name] = Tensor(name, (len(members), *row), tensor.dtype, tensor.role)
        stacks[name] = names
    graph = Graph(tensors)
    graph.call(op.name, args)
    return graph.calls[0]
