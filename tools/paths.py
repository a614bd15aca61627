"""Where the build keeps things: the repository, dist/, build/ and the cache folder."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = ROOT / "build"
TOOLS = ROOT / "tools"
RESULTS = ROOT / "test-results"


def cache_dir() -> Path:
    """Return the folder that clones share: downloads, toolchain, virtual environment.

    Returns:
        `$TABGRAD_CACHE`, else `tabgrad` below `$XDG_CACHE_HOME` or `~/.cache`; made
        when it is not there.
    """
    named = os.environ.get("TABGRAD_CACHE")
    if named:
        folder = Path(named).expanduser().resolve()
    else:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folder = Path(home).expanduser() / "tabgrad"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
