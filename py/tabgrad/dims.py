"""Symbolic shapes: the size letters of `docs/ops.md` bound to numbers.

A shape is written `"R 3C"`: one token per axis, each a size letter with an
optional integer factor in front, or a plain integer.

    B batch   T time   C channels (n_embd)   L layers   H heads   D = C / H
    F = 4 C   V vocabulary   R = B T rows   M K N  a generic matmul
    S steps in a chunk   N elements of a flat tensor   P partial sums
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tabgrad.errors import PlanError

Axis = tuple[int, str]
_TOKEN = re.compile(r"(\d*)([A-Z]?)")


def parse_shape(text: str) -> tuple[Axis, ...]:
    """Return the axes of a symbolic shape as (factor, letter), letter maybe empty."""
    axes = []
    for token in text.split():
        match = _TOKEN.fullmatch(token)
        if match is None or token == "":
            raise PlanError(f"shape {text!r}: {token!r} is not a size such as R or 3C")
        axes.append((int(match[1] or 1), match[2]))
    return tuple(axes)


def bind_shape(
    axes: tuple[Axis, ...], shape: tuple[int, ...], dims: dict[str, int], where: str
) -> None:
    """Bind the letters of `axes` to the sizes of `shape`, adding to `dims`.

    Raises:
        PlanError: the rank differs, a factor does not divide, or a letter is
            already bound to another size.
    """
    if len(axes) != len(shape):
        raise PlanError(f"{where}: got rank {len(shape)}, wanted rank {len(axes)}")
    for (factor, letter), size in zip(axes, shape, strict=True):
        wanted = f"{factor if factor > 1 or not letter else ''}{letter}"
        if size % factor or (letter == "" and size != factor):
            raise PlanError(f"{where}: got size {size}, wanted {wanted}")
        bound = dims.setdefault(letter, size // factor) if letter else 1
        if bound * factor != size:
            raise PlanError(
                f"{where}: got size {size}, wanted {wanted} = {factor * bound}"
            )


def resolve_shape(axes: tuple[Axis, ...], dims: Mapping[str, int]) -> tuple[int, ...]:
    """Return the numeric shape of `axes` under `dims`."""
    return tuple(factor * dims.get(letter, 1) for factor, letter in axes)
