"""The C++ functions say and take what the contracts say."""

import re
from pathlib import Path

import pytest

from tabgrad.backends import wasm_header
from tabgrad.ops import OPS, Op
from tools.paths import ROOT

# a comment block, and the function below it
_FUNCTION = re.compile(
    r"((?:^//.*\n)+)void (\w+)\(const (\w+)& a, Part& part\) \{", re.MULTILINE
)
_ARG = re.compile(r"(\w+) \(([^)]*)\)")


def cpp_functions() -> dict[str, tuple[str, str, Path]]:
    """Return op -> its comment block, struct and file."""
    found = {}
    for path in sorted((ROOT / "cpp").glob("*.cpp")):
        for block, name, struct in _FUNCTION.findall(path.read_text()):
            found[name] = (block, struct, path)
    return found


def said(block: str) -> dict[str, list[tuple[str, str]]]:
    """Return access -> (argument, axes) as a comment block has them."""
    lines = {"reads": "", "updates": "", "writes": ""}
    for line in block.splitlines():
        word, _, rest = line.removeprefix("// ").partition(" ")
        if word in lines:
            lines[word] += rest
    return {access: _ARG.findall(text) for access, text in lines.items()}


def promised(op: Op) -> dict[str, list[tuple[str, str]]]:
    """Return the same of a contract."""
    rows: dict[str, list[tuple[str, str]]] = {"reads": [], "updates": [], "writes": []}
    for arg in op.args:
        axes = [f"{f if f > 1 or not s else ''}{s}" for f, s in arg.axes]
        rows[f"{arg.access}s"].append((arg.name, ", ".join(axes)))
    return rows


def test_every_op_has_one_function_and_there_is_no_other():
    assert set(cpp_functions()) == set(OPS)


@pytest.mark.parametrize("name", OPS)
def test_the_comment_of_a_function_is_the_contract(name):
    block, struct, path = cpp_functions()[name]
    op = OPS[name]
    assert said(block) == promised(op)
    assert struct == wasm_header.type_name(op)
    assert block.startswith(f"// {name}: ")
    assert ("added to" in block) == bool(op.adds), "says whether outputs are added to"
    assert f"{op.reference.__module__.rsplit('.', 1)[1]}.cpp" == path.name


@pytest.mark.parametrize("name", OPS)
def test_a_function_honours_each_output_that_may_be_added_to(name):
    body = cpp_functions()[name][2].read_text()
    for arg in OPS[name].adds:
        assert f"a.add_{arg}" in body


def test_the_header_declares_every_argument_and_constant():
    header = wasm_header.header()
    for op in OPS.values():
        struct = wasm_header.struct_of(op)
        assert struct in header
        assert wasm_header.declaration_of(op) in header
        for name in (*(a.name for a in op.args), *op.consts):
            assert re.search(rf"[ *]{name};", struct), f"{op.name}.{name}"
