"""Where the build keeps things: the repository, dist/, build/ and the cache folder."""

import os
from pathlib import Path

from tools.shell import BuildError

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = ROOT / "build"
TOOLS = ROOT / "tools"
RESULTS = ROOT / "test-results"
CACHED = ("emscripten", "files", "venv")  # all that lies in the cache folder


def cache_dir() -> Path:
    """Return the folder that clones share: downloads, toolchain, virtual environment.

    Returns:
        `$TABGRAD_CACHE`, else `tabgrad` below `$XDG_CACHE_HOME` or `~/.cache`; made
        when it is not there.

    Raises:
        BuildError: it cannot be made or written.
    """
    named = os.environ.get("TABGRAD_CACHE")
    if named:
        folder = Path(named).expanduser().resolve()
    else:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folder = Path(home).expanduser() / "tabgrad"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(_no_cache(folder, error.strerror)) from error
    if not os.access(folder, os.W_OK):
        raise BuildError(_no_cache(folder, "it is read-only"))
    return folder


def _no_cache(folder: Path, why: str | None) -> str:
    return f"no cache folder {folder}: {why}; name another one in TABGRAD_CACHE"
