"""Every WGSL kernel says what it does, and binds what the op's contract says."""

import re
from pathlib import Path

import pytest

from tabgrad.backends.variants import VARIANTS
from tabgrad.backends.wgsl import read_wgsl, wgsl_folder
from tabgrad.ops import OPS, Op
from tabgrad.ops.cases import op_cases

FIELDS = ("reads", "updates", "writes", "grid", "limits", "exact", "source")
MAX_STORAGE_BUFFERS = 8
MAX_WIDTH = 100
MAX_LINES = 130
OP_OF_FILE = {
    wgsl_folder() / f"{row.file}.wgsl": OPS[row.op]
    for v in VARIANTS
    for row in v.passes
}
KERNELS = sorted(OP_OF_FILE)
WITH_SCRATCH = {  # a product's parts lie in lib/part_sums
    wgsl_folder() / f"{row.file}.wgsl"
    for v in VARIANTS
    for row in v.passes
    if v.scratch(op_cases(v.op)[0]) and not row.main
}
FILES = sorted(wgsl_folder().rglob("*.wgsl"))
BINDING = re.compile(
    r"@group\((\d+)\) @binding\((\d+)\) var<storage, (\w+)> (\w+): array<(\S+)>;"
)
ELEMENTS = {"Elem": "f32", "vec4<f32>": "f32"}  # wider reads of an f32 array
ARGUMENT = re.compile(r"(\w+) \(([^)]*)\)( u32)?")


def op_of(path: Path) -> Op:
    return OP_OF_FILE[path]


def path_id(path: Path) -> str:
    return path.relative_to(wgsl_folder()).with_suffix("").as_posix()


def header(path: Path) -> list[str]:
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return lines


def header_fields(path: Path) -> dict[str, str]:
    pairs = [line.partition(" ") for line in header(path)]
    return {name: rest.strip() for name, _, rest in pairs if name in FIELDS}


def shape_text(op: Op, name: str) -> str:
    """Return `x (R, 3C)` or `ids (R) u32` of an argument."""
    arg = op.arg(name)
    tokens = [letter or str(factor) for factor, letter in arg.axes]
    factors = [str(f) if f > 1 and letter else "" for f, letter in arg.axes]
    shape = ", ".join(f + t for f, t in zip(factors, tokens, strict=True))
    return f"{name} ({shape}){' u32' if arg.dtype == 'u32' else ''}"


@pytest.mark.parametrize("path", KERNELS, ids=path_id)
def test_header_names_the_op_and_its_arguments_in_contract_order(path: Path) -> None:
    op, fields = op_of(path), header_fields(path)
    assert header(path)[0].startswith(f"{op.name}: ")
    groups = {"reads": op.reads, "updates": op.updates, "writes": op.writes}
    for group, arguments in groups.items():
        wanted = [shape_text(op, name) for name in arguments]
        got = [match[0] for match in ARGUMENT.finditer(fields.get(group, ""))]
        assert got == wanted, group


@pytest.mark.parametrize("path", KERNELS, ids=path_id)
def test_header_states_grid_limits_exactness_and_source(path: Path) -> None:
    fields = header_fields(path)
    for name in ("grid", "limits", "exact", "source"):
        assert fields.get(name), name


@pytest.mark.parametrize("path", KERNELS, ids=path_id)
def test_bindings_are_the_contract_in_name_order_access_and_type(path: Path) -> None:
    found = [match.groups() for match in BINDING.finditer(path.read_text())]
    got = [(*words, ELEMENTS.get(element, element)) for *words, element in found]
    wanted = [
        (
            "0",
            str(binding),
            "read" if arg.access == "read" else "read_write",
            arg.name,
            arg.dtype,
        )
        for binding, arg in enumerate(op_of(path).args)
    ]
    if path in WITH_SCRATCH:
        wanted.append(("0", str(len(wanted)), "read_write", "scratch", "f32"))
    assert got == wanted
    assert path.read_text().count("@binding") == len(wanted) <= MAX_STORAGE_BUFFERS


@pytest.mark.parametrize("path", KERNELS, ids=path_id)
def test_kernel_takes_its_workgroup_size_from_the_table(path: Path) -> None:
    file = path.relative_to(wgsl_folder()).with_suffix("").as_posix()
    rows = [row for v in VARIANTS for row in v.passes if row.file == file]
    for row in rows:
        text = "".join(map(read_wgsl, row.files))
        assert text.count("@compute @workgroup_size(WG)\nfn main(") == 1


@pytest.mark.parametrize("path", FILES, ids=path_id)
def test_loops_have_constant_bounds_and_steps_of_one(path: Path) -> None:
    """Other loops get a guard from the compiler and lose their proven ranges.

    One file has such a loop, to measure what the guard costs.
    """
    loop = re.compile(r"for \(var (\w+) = 0u; \1 < [A-Z][A-Z0-9_]*; \1\+\+\) \{")
    text = path.read_text().replace(" // unroll", "")
    code = [line.strip() for line in text.splitlines()]
    loops = [line for line in code if re.match(r"(for|while|loop)\b", line)]
    guarded = [line for line in loops if not loop.fullmatch(line)]
    is_probe = path_id(path) == "probe/loop_guarded"
    assert guarded == (["for (var k = 0u; k < end; k++) {"] if is_probe else [])


@pytest.mark.parametrize("path", FILES, ids=path_id)
def test_file_is_plain_wgsl_of_a_readable_size(path: Path) -> None:
    text = path.read_text()
    for foreign in ("${", "#ifdef", "#define", "override ", "\t", "\r"):
        assert foreign not in text, foreign
    assert text.endswith("}\n")
    assert len(text.splitlines()) <= MAX_LINES
    assert max(map(len, text.splitlines())) <= MAX_WIDTH
