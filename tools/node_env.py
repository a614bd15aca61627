"""node_modules, from package-lock.json, and the Node.js that runs it."""

from pathlib import Path

from tools import packages
from tools.paths import ROOT
from tools.shell import run, step
from tools.stamps import hash_of, is_done, locked, mark_done, sha256_of

MODULES = ROOT / "node_modules"


def ensure_modules() -> None:
    """Install node_modules when package-lock.json changed since the last time."""
    packages.ensure(packages.NPM)
    files = [ROOT / name for name in ("package.json", "package-lock.json", ".npmrc")]
    key = hash_of([sha256_of(path) for path in files])
    stamp = MODULES / ".tabgrad-stamp"
    with locked(ROOT / "build", "npm"):
        if not is_done(stamp, key):
            with step("installing node_modules (npm ci)"):
                run(["npm", "ci", "--ignore-scripts"], cwd=ROOT)
            mark_done(stamp, key)


def node() -> str:
    """Return the Node.js that package.json pins, else the one on PATH.

    The pinned one is wanted because Debian 12's is older than Playwright asks for; on a
    machine that it is not built for, npm leaves it out.
    """
    ensure_modules()
    pinned = sorted(MODULES.glob("node-linux-*/bin/node"))
    return str(pinned[0]) if pinned else "node"


def module_program(path: str) -> list[str]:
    """Return the command that runs a script below node_modules."""
    return [node(), str(MODULES / path)]


def native_program(pattern: str) -> Path:
    """Return the one program below node_modules that matches a pattern."""
    ensure_modules()
    return next(MODULES.glob(pattern))
