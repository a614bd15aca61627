"""Which row of the table of kernels does a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from tabgrad.backends.base import Progress
from tabgrad.backends.variant import LEAST_WORKGROUP_BYTES, Variant
from tabgrad.backends.variants import VARIANTS, base_variant
from tabgrad.errors import ConfigError
from tabgrad.ops import Call
from tabgrad.plan import Plan

Pick = Callable[[str, Call], Variant]  # program, call -> row


class Chooser(Protocol):
    """Chooses the rows of a plan before it is compiled."""

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        """Return what gives the row of each call."""


class BaseRows:
    """Chooses the plain kernels, the definition of each op."""

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        """Return what gives the base row."""
        return lambda _, call: base_variant(call.op.name)


class ForcedRows:
    """Chooses rows by name where they fit, and base rows elsewhere."""

    def __init__(
        self,
        names: Mapping[str, str],
        features: frozenset[str] = frozenset(),
        workgroup_bytes: int = LEAST_WORKGROUP_BYTES,
    ) -> None:
        """Take the names by op, and what the device has.

        Raises:
            ConfigError: an op has no such row.
        """
        self._rows = {op: _row(op, name) for op, name in names.items()}
        self._device = (features, workgroup_bytes)

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        """Return what gives the row that was asked for."""
        return self._pick

    def _pick(self, _: str, call: Call) -> Variant:
        row = self._rows.get(call.op.name)
        if row and row.can_do(call.consts, *self._device):
            return row
        return base_variant(call.op.name)


def _row(op_name: str, name: str) -> Variant:
    known = {v.name: v for v in VARIANTS if v.op == op_name and not v.tol}
    if name not in known:
        words = ", ".join(known) or "no row: there is no such op"
        raise ConfigError(f"kernels: {op_name} got {name!r}, wanted {words}")
    return known[name]


def call_key(call: Call) -> str:
    """Return the text that stands for all calls done by the same kernels."""
    sizes = " ".join(f"{name}={value}" for name, value in call.consts.items())
    added = "".join(f" +={name}" for name in sorted(call.adds))
    return f"{call.op.name} {sizes}{added}"
