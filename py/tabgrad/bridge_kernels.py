"""What the page may ask of kernels: which a run takes, and how they were tuned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tabgrad.errors import ConfigError

Kernels = str | Mapping[str, str]  # "auto" (tuned), "base", or rows by op
AUTO = "auto"


def parse_kernels(wanted: object) -> Kernels:
    """Return the choice of kernels of a request; None means `auto`.

    Raises:
        ConfigError: it is none.
    """
    if wanted is None:
        return AUTO
    if isinstance(wanted, Mapping) and all(isinstance(v, str) for v in wanted.values()):
        return wanted
    if wanted in (AUTO, "base"):
        return str(wanted)
    raise ConfigError(
        f"kernels: got {wanted!r}, wanted auto, base or an object of rows by op"
    )


class Tuning(Protocol):
    """The tuner of the device at hand."""

    async def report(self) -> dict[str, Any]:
        """Return `why` nothing is tuned or "", where it holds, and the `rows`."""

    def cut_short(self) -> None:
        """End the tuning under way."""

    async def forget(self) -> None:
        """Forget all results, so that the next run tunes anew."""
