"""Which Emscripten is taken, and what is said when there is none."""

from pathlib import Path

import pytest

from tools import toolchain
from tools.shell import BuildError
from tools.toolchain import Emscripten, NoEmscripten, find_emscripten, version_of


def fake_emcc(folder: Path, text: str) -> Path:
    """Write a program that answers as `emcc --version` does."""
    folder.mkdir(parents=True, exist_ok=True)
    emcc = folder / "emcc"
    emcc.write_text(f"#!/bin/sh\necho '{text}'\n")
    emcc.chmod(0o755)
    return emcc


def banner(version: str) -> str:
    return f"emcc (Emscripten gcc/clang-like replacement) {version} (abc)"


@pytest.fixture(autouse=True)
def no_debian(monkeypatch):
    def refuse(_node):
        raise BuildError("no emcc found, and this is not Debian 12 or 13")

    monkeypatch.setattr(toolchain, "_debian_12", refuse)
    monkeypatch.setattr(toolchain, "_debian_13", refuse)
    monkeypatch.delenv("EMSDK", raising=False)


def test_the_version_is_read_from_the_banner(tmp_path):
    assert version_of(fake_emcc(tmp_path, banner("3.1.69"))) == (3, 1, 69)


def test_a_program_without_a_version_is_an_error(tmp_path):
    with pytest.raises(BuildError, match="names no version"):
        version_of(fake_emcc(tmp_path, "hello"))


def test_an_emcc_on_path_that_is_new_enough_is_taken(tmp_path, monkeypatch):
    emcc = fake_emcc(tmp_path, banner("4.0.10"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_emscripten("node")
    assert found == Emscripten(command=(str(emcc),), version="4.0.10")


def test_emsdk_goes_before_path(tmp_path, monkeypatch):
    fake_emcc(tmp_path / "path", banner("4.0.10"))
    emcc = fake_emcc(tmp_path / "sdk/upstream/emscripten", banner("5.0.3"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("EMSDK", str(tmp_path / "sdk"))
    found = find_emscripten("node")
    assert isinstance(found, Emscripten)
    assert found.command == (str(emcc),)


def test_one_that_is_too_old_is_refused_by_its_version(tmp_path, monkeypatch):
    fake_emcc(tmp_path, banner("3.1.6"))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_emscripten("node")
    assert isinstance(found, NoEmscripten)
    assert "emcc is 3.1.6; no emcc found" in found.reason
    assert "3.1.69 or newer" in found.remedy
