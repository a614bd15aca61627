"""What the page may ask of a backend: kernels, how they were tuned, and threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tabgrad.backends.wasm import BUILDS
from tabgrad.backends.wasm_abi import TILE_NAMES
from tabgrad.errors import ConfigError

Kernels = str | Mapping[str, str]  # "auto" (tuned), "base", or rows by op
AUTO = "auto"
SETTING_KEYS = ("kernels", "threads", "build", "tile")


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


@dataclass(frozen=True)
class Settings:
    """How a backend is to work; each takes what concerns it.

    `kernels` are WebGPU's. `threads`, `build` and `tile` are the CPU engine's; None
    takes as many as the machine has cores, the fastest build that holds the plan, and
    the tile that is the fastest when the engine starts.
    """

    kernels: Kernels = AUTO
    threads: int | None = None
    build: str | None = None
    tile: str | None = None


def parse_settings(request: Mapping[str, Any]) -> Settings:
    """Return the settings of a request.

    Raises:
        ConfigError: one of them is none.
    """
    threads, build, tile = map(request.get, ("threads", "build", "tile"))
    is_count = isinstance(threads, int) and not isinstance(threads, bool)
    if threads is not None and (not is_count or threads < 1):
        raise ConfigError(f"threads: got {threads!r}, wanted a whole number from 1 on")
    if build is not None and build not in BUILDS:
        raise ConfigError(f"build: got {build!r}, wanted {', '.join(BUILDS)}")
    if tile is not None and tile not in TILE_NAMES:
        raise ConfigError(f"tile: got {tile!r}, wanted {', '.join(TILE_NAMES)}")
    return Settings(parse_kernels(request.get("kernels")), threads, build, tile)


class Tuning(Protocol):
    """The tuner of the device at hand."""

    async def report(self) -> dict[str, Any]:
        """Return `why` nothing is tuned or "", where it holds, and the `rows`."""

    def cut_short(self) -> None:
        """End the tuning under way."""

    async def forget(self) -> None:
        """Forget all results, so that the next run tunes anew."""
