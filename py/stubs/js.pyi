"""The parts of pyodide's view of JavaScript that tabgrad uses."""

from typing import Any, TypeAlias

_Js: TypeAlias = Any

class Object:
    fromEntries: _Js  # noqa: N815 - JavaScript's name

class Uint8Array:
    @staticmethod
    def new(length: int) -> _Js: ...
