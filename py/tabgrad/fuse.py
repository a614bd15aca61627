"""Rewrites a plain program into a fused one: fewer calls, the same numbers.

Rules replace two calls by one where the tensor between them has no other use, or
where both read the same tensors; residual gradients are renamed instead of copied.
Forward calls may keep another tensor for the backward: GELU's slope, not its input.
The plain program is the definition; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tabgrad.errors import PlanError
from tabgrad.graph import Graph
from tabgrad.ops import Call
from tabgrad.tensors import Tensor


@dataclass(frozen=True)
class Rule:
    """`first` followed, maybe later, by `second` becomes `fused`.

    `link` is the (first, second) argument pair that must be one tensor. `args` gives
    each fused argument as "1.name" or "2.name"; "1.name.part" is a tensor that only
    fused programs have, named after that argument's. `in_place` is an argument of the
    second that takes the tensor of an argument of the first from then on.
    """

    first: str
    second: str
    fused: str
    link: tuple[str, str]
    args: Mapping[str, str]
    drops_link: bool = True
    in_place: tuple[str, str] | None = None  # (first's, second's)


RULES = (
    Rule(
        "linear_fwd",
        "gelu_fwd",
        "linear_gelu_fwd",
        ("y", "x"),
        {"x": "1.x", "w": "1.w", "b": "1.b", "y": "2.y", "slope": "1.y.slope"},
        drops_link=False,
    ),
    Rule(
        "linear_fwd",
        "residual_fwd",
        "linear_residual_fwd",
        ("y", "b"),
        {"x": "1.x", "w": "1.w", "b": "1.b", "a": "2.a", "y": "2.y"},
    ),
    Rule(
        "matmul_nt",
        "gelu_bwd",
        "matmul_nt_mul",
        ("y", "dy"),
        {"x": "1.x", "w": "1.w", "slope": "2.x.slope", "y": "2.dx"},
    ),
    Rule(
        "matmul_tn",
        "bias_bwd",
        "linear_bwd_wb",
        ("w", "dy"),
        {"x": "1.x", "dy": "1.w", "dw": "1.y", "db": "2.db"},
        drops_link=False,
    ),
    Rule(
        "xent_fwd",
        "xent_bwd",
        "xent_fwd_bwd",
        ("logits", "logits"),
        {"targets": "1.targets", "logits": "1.logits", "loss": "1.loss"},
        drops_link=False,
        in_place=("logits", "dlogits"),
    ),
)


def fuse(calls: Sequence[Call], tensors: dict[str, Tensor]) -> tuple[Call, ...]:
    """Return the fused program of a plain one.

    Args:
        calls: the program, as autodiff left it.
        tensors: the plan's; what only the fused program has is added, those out of
            use are the caller's to drop.

    Raises:
        PlanError: a call still reads a tensor that the rules left no call to write.
    """
    fused = list(calls)
    for rule in RULES:
        at = 0
        while at < len(fused):
            second = _partner(rule, fused, at)
            if second is not None:
                _merge(rule, fused, at, second, tensors)
            at += 1
    fused = _without_residual_copies(fused)
    lost = _written(calls) - _written(fused)
    for call in fused:
        for name in lost.intersection(call.tensors_read()):
            raise PlanError(
                f"{call.op.name} reads {name}, which no call of the fused program "
                "writes; add a rule that replaces the read too"
            )
    return tuple(fused)


def _written(calls: Iterable[Call]) -> set[str]:
    return {name for call in calls for name in call.tensors_written()}


def _partner(rule: Rule, calls: Sequence[Call], at: int) -> int | None:
    """Return where the second call of a rule stands, or None if it does not apply."""
    first = calls[at]
    if first.op.name != rule.first:
        return None
    link = first.args[rule.link[0]]
    found = (
        i
        for i, call in enumerate(calls[at + 1 :], at + 1)
        if call.op.name == rule.second and call.args[rule.link[1]] == link
    )
    later = next(found, None)
    if later is None:
        return None
    users = sum(link in c.args.values() for c in calls)
    if rule.drops_link and users > 2:  # noqa: PLR2004  the two calls themselves
        return None
    return later if _can_move(calls, at, later) else None


def _can_move(calls: Sequence[Call], to: int, origin: int) -> bool:
    """Return whether a call may run right after `to` instead of where it stands."""
    moved = calls[origin]
    reads, writes = set(moved.tensors_read()), set(moved.tensors_written())
    return not any(
        (reads | writes) & set(call.tensors_written())
        or writes & set(call.tensors_read())
        for call in calls[to + 1 : origin]
    )


def _merge(
    rule: Rule, calls: list[Call], at: int, later: int, tensors: dict[str, Tensor]
) -> None:
    """Replace the calls `at` and `later` by their fusion, at `at`."""
    pair = {"1": calls[at], "2": calls[later]}
    sources = {name: source.split(".") for name, source in rule.args.items()}
    args = {
        name: ".".join([pair[n].args[arg], *part])
        for name, (n, arg, *part) in sources.items()
    }
    adds = [name for name, (n, arg, *_) in sources.items() if arg in pair[n].adds]
    graph = Graph(tensors)
    graph.call(rule.fused, args, adds=adds)
    calls[at : at + 1] = graph.calls
    del calls[later]
    if rule.in_place:
        mine, theirs = rule.in_place
        new = {pair["2"].args[theirs]: pair["1"].args[mine]}
        calls[at:] = [_renamed(call, new) for call in calls[at:]]


def _renamed(call: Call, new: Mapping[str, str]) -> Call:
    return replace(call, args={k: new.get(v, v) for k, v in call.args.items()})


def _without_residual_copies(calls: list[Call]) -> list[Call]:
    """Let the gradients of both terms of a sum be the gradient of the sum.

    One of the two is added to later, by LayerNorm's backward; by then nothing may
    read the other any more.
    """
    at = 0
    while at < len(calls):
        call = calls[at]
        if call.op.name == "residual_bwd" and not call.adds:
            rest = calls[at + 1 :]
            a, b, dy = (call.args[k] for k in ("da", "db", "dy"))
            if _may_share(rest, a, b) and not any(dy in c.args.values() for c in rest):
                calls[at:] = [_renamed(c, {a: dy, b: dy}) for c in rest]
                continue
        at += 1
    return calls


def _may_share(rest: Sequence[Call], a: str, b: str) -> bool:
    """Return whether no write to one of two tensors comes before a use of the other."""
    for mine, other in ((a, b), (b, a)):
        writes = [i for i, c in enumerate(rest) if mine in c.tensors_written()]
        uses = [i for i, c in enumerate(rest) if other in c.args.values()]
        if writes and uses and min(writes) <= max(uses):
            return False
    return True
