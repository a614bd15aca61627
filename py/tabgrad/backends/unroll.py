"""Writes out the loops of a WGSL kernel that are marked `// unroll`.

Compilers of GPU drivers do not reliably keep in registers an array that a loop indexes,
nor unroll the loop. So a loop marked `// unroll` is repeated with its counter as a
number, and an array inside a function whose indices are all numbers then becomes
variables. The file stays plain WGSL, which means the same without this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from tabgrad.errors import BackendError

MARK = "// unroll"
_LOOP = re.compile(
    r"(\s*)for \(var (\w+) = 0u; \2 < ([A-Z][A-Z0-9_]*); \2\+\+\) \{ // unroll"
)
_CONST = re.compile(r"const ([A-Z]\w*)(?:: u32)? = ([^;]+);")
_ARITHMETIC = re.compile(r"[\s\dA-Z_a-z()+*/%-]+")
_INDEX = re.compile(r"\[([\du +*/%-]+)\]")
_ARRAY = re.compile(r"(\s+)var (\w+): array<(.+), (\w+)>;(?: // .*)?")
_USE = re.compile(r"\b(\w+)((?:\[[^\]]*\])+)")
_NESTED = re.compile(r"array<(.+), (\w+)>")


def unrolled(files: Sequence[str], given: Mapping[str, int] | None = None) -> str:
    """Return a module with its marked loops written out and their arrays dissolved.

    Each file is kept as it was written out for the constants it speaks of: a page tries
    the same kernel at many sizes, and a product behind many ops.

    Args:
        files: WGSL, in order, without the constants that differ from call to call.
        given: constants that the files speak of and do not declare.

    Raises:
        BackendError: a bound is no constant, or a loop has no end.
    """
    if not any(MARK in file for file in files):
        return "\n".join(files)
    sizes = constants("\n".join(files), given)
    return "\n".join(_unrolled_file(file, _spoken_of(file, sizes)) for file in files)


@cache
def _words(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Z]\w*", file))


def _spoken_of(file: str, sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((name, n) for name, n in sizes.items() if name in _words(file))


@cache
def _unrolled_file(file: str, sizes: tuple[tuple[str, int], ...]) -> str:
    if MARK not in file:
        return file
    known = dict(sizes)
    lines = [_folded(line) for line in _expand(file.splitlines(), known)]
    return _dissolve(lines, known) + "\n"


def constants(source: str, given: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the whole-number constants of a module whose values can be computed."""
    values = dict(given or {})
    for line in source.splitlines():
        match = _CONST.match(line)
        if match and _ARITHMETIC.fullmatch(match[2]):
            value = _value(match[2], values)
            if value is not None:
                values[match[1]] = value
    return values


def _value(text: str, names: Mapping[str, int]) -> int | None:
    """Return the value of unsigned arithmetic, or None where it is something else."""
    plain = re.sub(r"(?<=\d)u\b", "", text).replace("/", "//")
    if any(name not in names for name in re.findall(r"[A-Za-z_]\w*", plain)):
        return None
    return int(eval(plain, {"__builtins__": {}}, dict(names)))


def _expand(lines: list[str], sizes: Mapping[str, int]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(lines):
        match = _LOOP.fullmatch(lines[at])
        if match is None:
            out.append(lines[at])
            at += 1
            continue
        indent, counter, bound = match.groups()
        if bound not in sizes:
            raise BackendError(f"unroll: {bound} in {lines[at].strip()} is no constant")
        end = _end_of_block(lines, at)
        body = _expand(lines[at + 1 : end], sizes)
        name = re.compile(rf"\b{counter}\b")
        for i in range(sizes[bound]):
            number = f"{i}u"
            written = [name.sub(number, line) for line in body]
            out += [f"{indent}{{", *written, f"{indent}}}"]
        at = end + 1
    return out


def _end_of_block(lines: list[str], start: int) -> int:
    depth = 0
    for at in range(start, len(lines)):
        code = lines[at].split("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0:
            return at
    raise BackendError(f"unroll: {lines[start].strip()} has no end")


def _folded(line: str) -> str:
    """Return a line with the arithmetic of numbers inside brackets done."""
    return _INDEX.sub(lambda match: f"[{_number(match[1])}]", line)


@cache
def _number(text: str) -> int | None:
    return _value(text, {})


def _dissolve(lines: list[str], sizes: Mapping[str, int]) -> str:
    """Replace the arrays of functions by variables: a[1][2] becomes a_1_2.

    They begin with a zero in words: SwiftShader in Chromium 156 does not reset a
    variable without one that a loop declares anew.
    """
    out: list[str] = []
    depths: dict[str, int] = {}
    numbers = _number_depths("\n".join(lines))
    for line in lines:
        match = _ARRAY.fullmatch(line)
        nested = _NESTED.fullmatch(match[3]) if match else None
        depth = 2 if nested else 1
        if match is None or numbers.get(match[2], 0) < depth:
            out.append(line)
            continue
        indent, name, kind, bound = match.groups()
        rows = _size(bound, sizes)
        if nested:
            kind, columns = nested[1], _size(nested[2], sizes)
            tails = [f"{i}_{j}" for i in range(rows) for j in range(columns)]
        else:
            tails = [str(i) for i in range(rows)]
        depths[name] = depth
        out += [f"{indent}var {name}_{tail} = {kind}();" for tail in tails]
    text = "\n".join(out)
    for name, depth in depths.items():
        index = r"\[(\d+)\]" * depth
        tail = "_".join(f"\\{n + 1}" for n in range(depth))
        text = re.sub(rf"\b{name}{index}", rf"{name}_{tail}", text)
    return text


def _number_depths(text: str) -> dict[str, int]:
    """Return, for each name indexed in code, how many first indices are numbers."""
    depths: dict[str, int] = {}
    code = re.sub(r"//.*", "", text)
    for name, indices in _USE.findall(code):
        numbers = 0
        for index in indices[1:-1].split("]["):
            if not index.isdigit():
                break
            numbers += 1
        depths[name] = min(numbers, depths.get(name, numbers))
    return depths


def _size(bound: str, sizes: Mapping[str, int]) -> int:
    value = _value(bound, sizes)
    if value is None:
        raise BackendError(f"unroll: array size {bound} is no constant")
    return value
