"""The contract of an op: names, shapes, access, reference, gradient, tolerance.

Everything that must agree about an op (the WGSL bindings, the C++ arguments, the
plan, the tests, `docs/ops.md`) is read from here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

from tabgrad.dims import Axis, parse_shape
from tabgrad.errors import PlanError
from tabgrad.tensors import Array, Dtype

Access = Literal["read", "update", "write"]
Const = int | float


@dataclass(frozen=True)
class Arg:
    """One tensor argument; `update` is read and written, `write` only written."""

    name: str
    axes: tuple[Axis, ...]
    dtype: Dtype
    access: Access


@dataclass(frozen=True)
class Tol:
    """|got - wanted| <= abs + rel * max|wanted|, for outputs of order one."""

    rel: float
    abs: float


class Vjp:
    """A call of the backward op: `bind` maps its argument names to the forward's.

    A name `x` stands for the forward's tensor `x`, `dx` for the gradient of it;
    arguments left out of `bind` stand for themselves.
    """

    def __init__(self, op: str, **bind: str) -> None:
        """Make a call of the op named `op`."""
        self.op = op
        self.bind = bind


@dataclass(frozen=True)
class Op:
    """An operation of a plan.

    Args:
        name: noun + `_fwd` or `_bwd`.
        reads: argument -> shape, `:u32` after the shape for token ids and counters.
        updates: arguments that are read and written.
        writes: arguments that are only written; binding order is reads, updates,
            writes.
        reference: the numpy definition; takes reads, updates and constants by name,
            returns the new values of updates and writes in order.
        vjp: backward calls, in order.
        adds: written arguments for which a call may ask for `+=`.
        attrs: named constants beyond the sizes.
        flops: sizes -> floating-point operations.
        tol: how near a backend must come to the reference.
    """

    name: str
    reads: Mapping[str, str]
    writes: Mapping[str, str]
    reference: Callable[..., Any]
    updates: Mapping[str, str] = field(default_factory=dict)
    vjp: tuple[Vjp, ...] = ()
    adds: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    flops: Callable[[Mapping[str, Const]], float] = lambda _: 0.0
    tol: Tol = Tol(rel=1e-5, abs=1e-6)

    @cached_property
    def args(self) -> tuple[Arg, ...]:
        """Every argument, in binding order."""
        groups: tuple[tuple[Access, Mapping[str, str]], ...] = (
            ("read", self.reads),
            ("update", self.updates),
            ("write", self.writes),
        )
        return tuple(
            _parse_arg(name, text, access)
            for access, group in groups
            for name, text in group.items()
        )

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The size letters of the arguments, in order of first use."""
        letters = [letter for arg in self.args for _, letter in arg.axes if letter]
        return tuple(dict.fromkeys(letters))

    @cached_property
    def consts(self) -> tuple[str, ...]:
        """Every constant that a kernel of this op is given: sizes, then attrs."""
        return (*self.dims, *self.attrs)

    @cached_property
    def outputs(self) -> tuple[Arg, ...]:
        """Arguments that are updated or written, in order."""
        return tuple(arg for arg in self.args if arg.access != "read")

    def arg(self, name: str) -> Arg:
        """Return an argument by name."""
        for arg in self.args:
            if arg.name == name:
                return arg
        raise PlanError(f"{self.name} has no argument {name!r}")

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.reference).parameters

    @cached_property
    def floats(self) -> frozenset[str]:
        """The constants that are real numbers, by the reference's annotations.

        The value does not tell: a page may give a clip of 1 as a whole number.
        """
        parameters = self._parameters.items()
        return frozenset(name for name, p in parameters if p.annotation == "float")

    def run_reference(
        self, inputs: Mapping[str, Array], consts: Mapping[str, Const]
    ) -> dict[str, Array]:
        """Return the new values of the outputs, without `+=`.

        Args:
            inputs: arrays of reads and updates, shaped as the contract says.
            consts: sizes and attrs; those the reference does not take are left out.
        """
        values = {**consts, **inputs}
        taken = {k: v for k, v in values.items() if k in self._parameters}
        result = self.reference(**taken)
        if len(self.outputs) == 1:
            result = (result,)
        named = zip(self.outputs, result, strict=True)
        return {arg.name: cast("Array", value) for arg, value in named}


@dataclass(frozen=True)
class Call:
    """An op on tensors: `args` names them, `consts` holds every size and attr.

    `adds` names the written arguments that are added to instead of replaced.
    """

    op: Op
    args: Mapping[str, str]
    consts: Mapping[str, Const]
    adds: frozenset[str] = frozenset()

    @property
    def flops(self) -> float:
        """Floating-point operations."""
        return self.op.flops(self.consts)

    def tensors_read(self) -> list[str]:
        """Names of tensors whose old value this call needs."""
        return [
            self.args[a.name]
            for a in self.op.args
            if a.access != "write" or a.name in self.adds
        ]

    def tensors_written(self) -> list[str]:
        """Names of tensors that this call changes."""
        return [self.args[a.name] for a in self.op.outputs]


def _parse_arg(name: str, text: str, access: Access) -> Arg:
    shape, _, dtype = text.partition(":")
    if dtype not in ("", "u32"):
        raise PlanError(f"argument {name}: got dtype {dtype!r}, wanted u32 or nothing")
    return Arg(name, parse_shape(shape), "u32" if dtype else "f32", access)
