"""Finds an Emscripten that is new enough, or fetches Debian 13's.

Order: `emcc` under `$EMSDK`, then on PATH, then Debian's own package. Debian 12's is
too old for 64-bit SIMD code, so there Debian 13's is unpacked below the cache folder;
it runs with Debian 12's LLVM 19, and its binaryen with Debian 13's C library.
"""

import os
import platform
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tools import packages
from tools.paths import cache_dir
from tools.shell import BuildError, run, step
from tools.stamps import hash_of, locked

OLDEST = (3, 1, 69)
SUITE = "trixie"
FETCHED = ("emscripten", "binaryen", "node-acorn", "libc6", "libstdc++6", "libgcc-s1")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
EMSDK_HOW = (
    "install Emscripten 3.1.69 or newer and put emcc on PATH, "
    "or set EMSDK to its folder"
)
WRAPPER = """#!/bin/sh
# {name} needs a newer C library than this system's: start it with the loader beside it.
root="$(dirname "$(readlink -f "$0")")/../.."
exec "$root{loader}" --library-path "$root/usr/lib/{triplet}" \\
    "$root/usr/bin/{name}" "$@"
"""
CONFIG = """\
LLVM_ROOT = {llvm!r}
BINARYEN_ROOT = {binaryen!r}
NODE_JS = {node!r}
CACHE = {cache!r}
FROZEN_CACHE = False
LLVM_ADD_VERSION = ''
CLANG_ADD_VERSION = ''
"""


@dataclass(frozen=True, kw_only=True)
class Emscripten:
    """A usable Emscripten: `run([*command, ...], env=env)` compiles and links."""

    command: tuple[str, ...]
    version: str
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NoEmscripten:
    """Why there is no usable Emscripten, and what gives one."""

    reason: str
    remedy: str


def version_of(command: Path) -> tuple[int, ...]:
    """Return the version that an emcc reports.

    Raises:
        BuildError: it does not run, or prints no version.
    """
    text = run([command, "--version"])
    found = re.search(r"emcc .*?(\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        raise BuildError(f"{command} --version names no version: {text[:200]!r}")
    return tuple(int(part) for part in found.groups())


def find_emscripten(node: str) -> Emscripten | NoEmscripten:
    """Return a usable Emscripten, fetching Debian's where that is possible.

    Args:
        node: the Node.js program that Emscripten's scripts run on.
    """
    refused = []
    for emcc in _present():
        try:
            version = version_of(emcc)
        except BuildError as error:
            refused.append(str(error))
            continue
        if version >= OLDEST and _is_debians(emcc):
            return _configured(emcc, Path("/usr"), packages.LLVM_BIN, node)
        if version >= OLDEST:
            return Emscripten(command=(str(emcc),), version=_dotted(version))
        refused.append(f"{emcc} is {_dotted(version)}")
    try:
        return _debian_13(node) if _is_debian_13() else _debian_12(node)
    except BuildError as error:
        reason = "; ".join([*refused, str(error)])
        return NoEmscripten(reason=reason, remedy=EMSDK_HOW)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


def _present() -> list[Path]:
    """Return the emcc programs on this machine, best first."""
    emsdk = os.environ.get("EMSDK")
    named = Path(emsdk) / "upstream" / "emscripten" / "emcc" if emsdk else None
    on_path = shutil.which("emcc")
    found = [named] if named and named.exists() else []
    return [*found, *([Path(on_path)] if on_path else [])]


def _is_debians(emcc: Path) -> bool:
    return emcc.resolve().is_relative_to("/usr/share/emscripten")


def _is_debian_13() -> bool:
    release = packages.os_release()
    return packages.is_debian() and int(release.get("VERSION_ID", "0")) >= 13  # noqa: PLR2004


def _configured(emcc: Path, binaryen: Path, llvm: Path, node: str) -> Emscripten:
    """Return Debian's emcc with a configuration of ours: a cache we may write."""
    numbers = emcc.resolve().with_name("emscripten-version.txt").read_text()
    version = numbers.strip().strip('"')
    folder = cache_dir() / "emscripten"
    folder.mkdir(parents=True, exist_ok=True)
    text = CONFIG.format(
        llvm=str(llvm),
        binaryen=str(binaryen),
        node=node,
        cache=str(folder / f"cache-{version}"),
    )
    config = folder / f"config-{hash_of(text)[:12]}.py"
    if not config.is_file():
        config.write_text(text)
    env = {"EM_CONFIG": str(config)}
    return Emscripten(command=(str(emcc),), version=version, env=env)


def _debian_13(node: str) -> Emscripten:
    """Install Debian 13's own package and return it."""
    if os.geteuid():
        how = packages.command_for(["emscripten"])
        raise BuildError(f"no emcc found, and not root to install it: {how}")
    packages.install(["emscripten"])
    return _configured(Path("/usr/bin/emcc"), Path("/usr"), packages.LLVM_BIN, node)


def _debian_12(node: str) -> Emscripten:
    """Return Debian 13's Emscripten, unpacked below the cache folder."""
    if not packages.is_debian() or platform.machine() not in ("x86_64", "aarch64"):
        raise BuildError("no emcc found, and this is not Debian 12 or 13")
    packages.ensure(packages.LLVM)
    home = cache_dir() / "emscripten"
    tree = home / SUITE
    with locked(home, "fetch"):
        if not tree.is_dir():
            with step("fetching Debian 13's Emscripten (240 MB)"):
                _fetch(home, tree)
    emcc = tree / "usr" / "share" / "emscripten" / "emcc"
    return _configured(emcc, tree / "wrapped", packages.LLVM_BIN, node)


def _fetch(home: Path, tree: Path) -> None:
    """Download the packages with a private apt state and unpack them into a tree."""
    fresh = home / f"{SUITE}.part"
    shutil.rmtree(fresh, ignore_errors=True)
    debs = fresh / "debs"
    (debs / "partial").mkdir(parents=True)
    (fresh / "lists" / "partial").mkdir(parents=True)
    source = fresh / "sources.list"
    source.write_text(f"deb [signed-by={KEYRING}] {_mirror()} {SUITE} main\n")
    settings = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": fresh / "lists",
        "Dir::Cache": fresh,
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    options = [w for key, value in settings.items() for w in ("-o", f"{key}={value}")]
    run(["apt-get", *options, "update"])
    wanted = [f"{name}/{SUITE}" for name in FETCHED]
    run(["apt-get", *options, "download", *wanted], cwd=debs)
    for deb in sorted(debs.glob("*.deb")):
        run(["dpkg", "-x", deb, fresh])
        deb.unlink()
    _wrap_binaryen(fresh)
    modules = fresh / "usr" / "share" / "emscripten" / "node_modules"
    modules.mkdir(exist_ok=True)
    (modules / "acorn").symlink_to("../../nodejs/acorn")
    shutil.rmtree(fresh / "lists")
    shutil.rmtree(debs)
    fresh.rename(tree)


def _mirror() -> str:
    """Return the address that this machine's own apt takes Debian from."""
    fields = "$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)"
    text = run(["apt-get", "indextargets", "--format", fields, "Created-By: Packages"])
    codename = packages.os_release().get("VERSION_CODENAME", "")
    for line in text.splitlines():
        origin, name, component, address = line.split("|", 3)
        if (origin, name, component) == ("Debian", codename, "main"):
            return address
    raise BuildError(
        f"apt knows no source of Debian {codename} main; run: sudo apt-get update"
    )


def _wrap_binaryen(tree: Path) -> None:
    """Write starters of binaryen's programs that use the tree's own C library."""
    arch = platform.machine()
    loader = {
        "x86_64": "/usr/lib64/ld-linux-x86-64.so.2",
        "aarch64": "/usr/lib/ld-linux-aarch64.so.1",
    }[arch]
    starters = tree / "wrapped" / "bin"
    starters.mkdir(parents=True)
    for program in sorted((tree / "usr" / "bin").glob("wasm*")):
        starter = starters / program.name
        starter.write_text(
            WRAPPER.format(
                name=program.name, loader=loader, triplet=f"{arch}-linux-gnu"
            )
        )
        starter.chmod(0o755)
