"""Debian packages: installs what is missing as root, else names the command."""

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.shell import BuildError, run, step

LLVM_BIN = Path("/usr/lib/llvm-19/bin")
LAVAPIPE = Path("/usr/share/vulkan/icd.d")


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Something that a Debian package gives, and how to see that it is there."""

    what: str
    packages: tuple[str, ...]
    is_there: Callable[[], bool]
    elsewhere: str


def find_chromium() -> Path | None:
    """Return the Chromium that tests drive, or None."""
    named = os.environ.get("TABGRAD_CHROMIUM")
    if named:
        return Path(named)
    for name in ("chromium", "chromium-headless-shell", "chromium-browser"):
        found = shutil.which(name)
        if found:
            return Path(found)
    return None


def _has_venv() -> bool:
    try:
        run(["python3", "-c", "import ensurepip, venv"])
    except BuildError:
        return False
    return True


def _has_sanitizers() -> bool:
    return any(Path("/usr/lib/llvm-19/lib/clang").glob("19*/lib/linux/*.asan*"))


GIT = Tool(
    what="git, which lists the files to check",
    packages=("git",),
    is_there=lambda: shutil.which("git") is not None,
    elsewhere="install git",
)
VENV = Tool(
    what="Python's venv module",
    packages=("python3-venv",),
    is_there=_has_venv,
    elsewhere="install Python 3.11 or newer with its venv and ensurepip modules",
)
NPM = Tool(
    what="Node.js with npm",
    packages=("nodejs", "npm"),
    is_there=lambda: all(shutil.which(name) for name in ("node", "npm")),
    elsewhere="install Node.js 18 or newer with npm",
)
LLVM = Tool(
    what="clang, lld and llvm 19",
    packages=("clang-19", "lld-19", "llvm-19", "libclang-rt-19-dev"),
    is_there=lambda: (
        all((LLVM_BIN / name).exists() for name in ("clang", "wasm-ld", "llvm-ar"))
        and _has_sanitizers()
    ),
    elsewhere="install clang, lld and llvm 19 below /usr/lib/llvm-19",
)
CHROMIUM = Tool(
    what="Chromium",
    packages=("chromium",),
    is_there=lambda: find_chromium() is not None,
    elsewhere="install Chromium, or name one in TABGRAD_CHROMIUM",
)
VULKAN = Tool(
    what="a software Vulkan device (llvmpipe), on which naga validates WGSL",
    packages=("mesa-vulkan-drivers",),
    is_there=lambda: any(LAVAPIPE.glob("*.json")),
    elsewhere="install Mesa's Vulkan drivers",
)
ALL = (GIT, VENV, NPM, LLVM, CHROMIUM, VULKAN)


def os_release() -> dict[str, str]:
    """Return the fields of /etc/os-release; empty where there is none."""
    path = Path("/etc/os-release")
    if not path.is_file():
        return {}
    rows = [line.partition("=") for line in path.read_text().splitlines()]
    return {key: value.strip('"') for key, _, value in rows if value}


def is_debian() -> bool:
    """Return whether this is Debian 12 or newer with apt-get."""
    release = os_release()
    return (
        release.get("ID") == "debian"
        and int(release.get("VERSION_ID", "0").split(".")[0] or 0) >= 12  # noqa: PLR2004
        and shutil.which("apt-get") is not None
    )


def install(packages: Iterable[str]) -> None:
    """Install Debian packages with apt-get; needs root."""
    names = list(packages)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with step(f"installing Debian packages: {' '.join(names)}"):
        run(["apt-get", "update"], env=quiet)
        run(["apt-get", "install", "-y", "--no-install-recommends", *names], env=quiet)


def command_for(packages: Iterable[str]) -> str:
    """Return the command that a user types to install Debian packages."""
    return f"sudo apt-get install {' '.join(packages)}"


def advice(tool: Tool) -> str:
    """Return one line that names a missing tool and how to get it."""
    how = command_for(tool.packages) if is_debian() else tool.elsewhere
    return f"{tool.what} is missing: {how}"


def ensure(*tools: Tool) -> None:
    """Make sure that tools are there.

    Raises:
        BuildError: some are missing and this is not root on Debian; every one is named
            with the command that installs it.
    """
    missing = [tool for tool in tools if not tool.is_there()]
    if not missing:
        return
    if not (is_debian() and os.geteuid() == 0):
        raise BuildError("\n".join(advice(tool) for tool in missing))
    install(name for tool in missing for name in tool.packages)
    still = [tool for tool in missing if not tool.is_there()]
    if still:
        raise BuildError("\n".join(f"after apt-get: {advice(tool)}" for tool in still))
