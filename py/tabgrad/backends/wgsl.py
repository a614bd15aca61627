"""Assembles WGSL kernels: constants and shared functions in front of a file.

`python -m tabgrad.backends.wgsl --dump DIR` writes every kernel of the op cases and
of the smallest presets, for a compiler to check.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tabgrad.backends.probes import COPY, COPY_SIZES, FMA, FMA_SIZES, PROBES
from tabgrad.backends.row_check import DEVIATION, DEVIATION_ROW, DEVIATION_SIZES
from tabgrad.backends.unroll import unrolled
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.variants import VARIANTS, base_variant
from tabgrad.errors import BackendError
from tabgrad.ops import OPS, Call, Const, Op
from tabgrad.ops.cases import case_call, op_cases
from tabgrad.plan import build_plan
from tabgrad.presets import preset

MAX_GROUPS = 65_535  # of one dimension of a dispatch: maxComputeWorkgroupsPerDimension
_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "wgsl", _PACKAGE.parent.parent / "wgsl")  # wheel, repository


@dataclass(frozen=True)
class Kernel:
    """A whole WGSL module, and the workgroups that a dispatch of it takes.

    `scratch_bytes` is the size of the buffer bound after the op's arguments, or 0.
    """

    label: str
    source: str
    groups: tuple[int, int]
    scratch_bytes: int = 0


def wgsl_folder() -> Path:
    """Return the folder of kernels.

    Raises:
        BackendError: it is neither in the package nor beside it.
    """
    for folder in _FOLDERS:
        if folder.is_dir():
            return folder
    looked = " and ".join(str(folder) for folder in _FOLDERS)
    raise BackendError(f"the WGSL kernels are missing: looked in {looked}; reinstall")


@cache
def read_wgsl(name: str) -> str:
    """Return the text of a file of `wgsl/`, named without its suffix."""
    return (wgsl_folder() / f"{name}.wgsl").read_text(encoding="utf-8")


def fold_groups(n_groups: int) -> tuple[int, int]:
    """Return x and y of a dispatch of at least `n_groups`, in rows as even as can be.

    Raises:
        BackendError: two dimensions do not hold them.
    """
    y = -(-n_groups // MAX_GROUPS)
    if y > MAX_GROUPS:
        raise BackendError(
            f"a dispatch of {n_groups:,} workgroups is over {MAX_GROUPS} x "
            f"{MAX_GROUPS}; choose a smaller preset or batch_size"
        )
    return -(-n_groups // y), y


def constant_lines(
    op: Op, values: Iterable[tuple[str, Const]], adds: frozenset[str]
) -> list[str]:
    """Return the declarations of a call's sizes, attrs and `+=` flags.

    Real numbers are left without a type: WGSL then computes with them in double
    precision until it needs an f32.
    """
    lines = []
    for name, value in values:
        if name in op.floats:
            lines.append(f"const {name} = {float(value)!r};")
        else:
            lines.append(f"const {name}: u32 = {int(value)}u;")
    for arg in op.adds:
        lines.append(f"const {arg.upper()}_ADDS: bool = {_word(arg in adds)};")
    return lines


def _word(is_on: bool) -> str:
    return "true" if is_on else "false"


def assemble(call: Call, variant: Variant | None = None) -> Kernel:
    """Return the kernel of a call.

    Args:
        call: what to do.
        variant: how; the base kernel if None.
    """
    chosen = variant or base_variant(call.op.name)
    groups = fold_groups(chosen.workgroups(call.consts))
    given = {**chosen.constants, "GRID_X": groups[0]}
    lines = [f"enable {feature};" for feature in sorted(chosen.needs)]
    lines += [f"const {name}: u32 = {value}u;" for name, value in given.items()]
    lines += constant_lines(call.op, call.consts.items(), call.adds)
    lines += [f"const {name}: bool = {_word(on)};" for name, on in chosen.flags.items()]
    body = _body(chosen.files, tuple(chosen.constants.items()))
    source = "\n".join(lines) + "\n\n" + body
    label = call.op.name if chosen.name == BASE else f"{call.op.name}:{chosen.name}"
    return Kernel(label, source, groups)


@cache
def _body(files: tuple[str, ...], constants: tuple[tuple[str, int], ...]) -> str:
    """Return a module without the constants that differ from call to call."""
    return unrolled([read_wgsl(file) for file in files], dict(constants))


def assemble_passes(call: Call, variant: Variant) -> tuple[Kernel, ...]:
    """Return the kernels that do a call, one after the other."""
    n_bytes = variant.scratch(call.consts)
    rows = variant.passes
    return tuple(replace(assemble(call, row), scratch_bytes=n_bytes) for row in rows)


def case_kernels() -> Iterable[Kernel]:
    """Yield the kernels of every row and case that fits, without and with `+=`."""
    for variant in VARIANTS:
        op = OPS[variant.op]
        for consts in filter(variant.fits, op_cases(op.name)):
            for adds in (False, True) if op.adds else (False,):
                yield from assemble_passes(case_call(op, consts, adds)[0], variant)


def preset_kernels(name: str) -> Iterable[Kernel]:
    """Yield the kernels of every program of a preset."""
    plan = build_plan(preset(name), 1 << 20)
    for calls in plan.programs.values():
        yield from map(assemble, calls)


def probe_kernels() -> Iterable[Kernel]:
    """Yield the kernels that measure a device."""
    probes = ((FMA, FMA_SIZES), (COPY, COPY_SIZES), (DEVIATION, DEVIATION_SIZES))
    rows = (*PROBES, DEVIATION_ROW)
    for (op, sizes), row in zip(probes, rows, strict=True):
        yield assemble(case_call(op, sizes, False)[0], row)


def _dump(folder: Path) -> int:
    """Write each distinct kernel into a folder; return how many."""
    kernels = [*case_kernels(), *preset_kernels("Nano"), *preset_kernels("Small")]
    kernels += probe_kernels()
    folder.mkdir(parents=True, exist_ok=True)
    distinct = {kernel.source: kernel for kernel in kernels}
    for source, kernel in distinct.items():
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        name = re.sub(r"\W+", ".", kernel.label)
        path = folder / f"{name}.{digest}.wgsl"
        path.write_text(source, encoding="utf-8")
    return len(distinct)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write assembled WGSL kernels.")
    parser.add_argument("--dump", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    print(f"{_dump(given.dump)} kernels in {given.dump}")


if __name__ == "__main__":
    main()
