"""The wheel for Pyodide: what is in it, and the same bytes each time."""

import os
import time
import zipfile
from pathlib import Path

import pytest

from tools.wheel import build_wheel


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "py/tabgrad/__init__.py": "",
        "py/tabgrad/ops/gelu.py": "x = 1\n",
        "py/tabgrad/__pycache__/gelu.pyc": "bytecode",
        "wgsl/gelu_fwd.wgsl": "// gelu\n",
        "wgsl/lib/reduce.wgsl": "// reduce\n",
    }.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


def test_it_holds_the_package_and_the_kernels_and_no_bytecode(
    tree: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(build_wheel(tmp_path, tree)) as archive:
        names = [name for name in archive.namelist() if "dist-info" not in name]
    assert names == [
        "tabgrad/__init__.py",
        "tabgrad/ops/gelu.py",
        "tabgrad/wgsl/gelu_fwd.wgsl",
        "tabgrad/wgsl/lib/reduce.wgsl",
    ]


def test_the_same_files_give_the_same_bytes_at_another_time(
    tree, tmp_path, monkeypatch
):
    first = build_wheel(tmp_path, tree).read_bytes()
    os.utime(tree / "wgsl" / "gelu_fwd.wgsl", (1e9, 1e9))
    monkeypatch.setattr(time, "time", lambda: 2e9)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(2e9))
    assert build_wheel(tmp_path, tree).read_bytes() == first


def test_a_changed_kernel_changes_the_wheel(tree: Path, tmp_path: Path) -> None:
    first = build_wheel(tmp_path, tree).read_bytes()
    (tree / "wgsl" / "gelu_fwd.wgsl").write_text("// GELU\n")
    assert build_wheel(tmp_path, tree).read_bytes() != first
