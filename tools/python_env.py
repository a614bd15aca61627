"""The virtual environment: pip, then the tools of check and test, then PyTorch."""

import sys
from pathlib import Path

from tools import packages
from tools.paths import TOOLS, cache_dir
from tools.shell import run, step
from tools.stamps import hash_of, is_done, locked, mark_done, sha256_of

LOCK = TOOLS / "requirements.lock"
TORCH = "torch==2.13.0"


def python_with_pip() -> Path:
    """Return the interpreter of the virtual environment, made when it is not there."""
    packages.ensure(packages.VENV)
    version = "{}.{}".format(*sys.version_info)
    home = cache_dir() / "venv"
    folder = home / f"{version}-{hash_of(sha256_of(LOCK), TORCH)[:12]}"
    python = folder / "bin" / "python"
    with locked(home, folder.name):
        if not is_done(folder / "made", version, python):
            with step(f"making the virtual environment {folder}"):
                run([sys.executable, "-m", "venv", "--clear", folder])
            mark_done(folder / "made", version)
    return python


def python_with_tools() -> Path:
    """Return the interpreter with everything in tools/requirements.lock."""
    return _with("tools", ["--require-hashes", "-r", str(LOCK)], "Python tools")


def python_with_torch() -> Path:
    """Return the interpreter with the tools and with PyTorch, the tests' judge."""
    python_with_tools()
    return _with("torch", [TORCH], f"{TORCH} for the tests")


def _with(layer: str, wanted: list[str], what: str) -> Path:
    python = python_with_pip()
    stamp = python.parent.parent / layer
    with locked(cache_dir() / "venv", f"{python.parent.parent.name}-{layer}"):
        if not is_done(stamp, "done"):
            with step(f"installing {what}"):
                run([python, "-m", "pip", "install", *wanted])
            mark_done(stamp, "done")
    return python
