"""The parts of pyodide.ffi that tabgrad uses."""

from typing import Any, TypeAlias

_Js: TypeAlias = Any

class JsException(Exception): ...  # noqa: N818 - pyodide's own name

def to_js(obj: object, *, dict_converter: _Js = ...) -> _Js: ...
