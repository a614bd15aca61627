"""What the WebGPU backend asks of the browser, so that it imports nothing of it."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

JsObject: TypeAlias = Any  # attributes and methods as JavaScript names them

_FILTERS = ("validation", "out-of-memory", "internal")


class GpuHost(Protocol):
    """A GPU device, and what carries Python values to JavaScript.

    Promises are awaitable, and what JavaScript throws arrives as `js_error`.
    """

    adapter_name: str  # for people
    features: frozenset[str]  # of the device
    device: JsObject  # GPUDevice
    player: JsObject  # the WebgpuPlayer of site/js/players/webgpu.js on that device
    js_error: type[Exception]

    def to_js(self, value: object) -> JsObject:
        """Return dicts as plain objects and lists as arrays, deeply.

        JavaScript objects inside stay what they are.
        """

    def bytes_to_js(self, values: NDArray[Any]) -> JsObject:
        """Return a new Uint8Array with a copy of a contiguous array's bytes."""

    def bytes_from_js(self, buffer: JsObject) -> bytes:
        """Return a copy of a Uint8Array."""


def js_message(error: JsObject) -> str:
    """Return the words of a JavaScript error or of a GPUError."""
    return str(getattr(error, "message", None) or error).strip()


class ErrorScopes:
    """Catches what the device reports of the calls made inside `with`.

    Scopes are a stack of the device: no `await` may stand inside.
    """

    def __init__(self, host: GpuHost) -> None:
        """Make scopes that are not open."""
        self._host = host
        self._promises: list[JsObject] = []

    def __enter__(self) -> ErrorScopes:
        """Open one scope for each kind of error."""
        for name in _FILTERS:
            self._host.device.pushErrorScope(name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the scopes; their results come later."""
        device = self._host.device
        self._promises = [device.popErrorScope() for _ in _FILTERS]

    async def first_error(self) -> str | None:
        """Return the words of the first error caught, or None."""
        asked = asyncio.gather(*self._promises, return_exceptions=True)
        for result in await asked:
            is_js = isinstance(result, self._host.js_error)
            if isinstance(result, BaseException) and not is_js:
                raise result
            if result:  # JavaScript's null is false here, but not None
                return js_message(result)
        return None
