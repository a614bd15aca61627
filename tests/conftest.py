"""What several tests need: the folder of the repository and the native engine."""

from pathlib import Path

import pytest

from tools import engine

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def native_library() -> Path:
    """Return the C++ engine built with sanitizers, for a process of its own.

    Load it with ctypes in a Python started with `tools.engine.native_env()`; a
    sanitizer's complaint then ends that process with another status than 0.
    """
    return engine.build_native()
