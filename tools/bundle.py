"""Builds dist/: the static files that are the whole of the page.

- index.html, js/, ...: site/ as it is
- pyodide/ corpora/ vendor/: third-party files, checked by hash
- tabgrad-<version>-py3-none-any.whl: the Python package, with the WGSL kernels
- engine/: the C++ engine, where there was a compiler
- build.json: what the page reads first: names, sizes, engines
"""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from tools import engine, packages, vendor, wheel
from tools.node_env import node
from tools.paths import BUILD, DIST, ROOT
from tools.shell import say, step
from tools.stamps import files_in, hash_of, hash_of_files, is_done, mark_done
from tools.toolchain import NoEmscripten, find_emscripten

SITE = ROOT / "site"
STAMP = BUILD / "dist.stamp"


def build_dist() -> NoEmscripten | None:
    """Build dist/, or leave it when nothing that it is made of changed.

    Returns:
        Why dist/ has no C++ engine and what gives one, or None when it has.
    """
    packages.ensure(packages.NPM, packages.VENV)
    engines, missing = _build_engines()
    key = _key_of(engines, missing)
    if is_done(STAMP, key, DIST / "build.json"):
        say("dist/ is up to date")
    else:
        with step("building dist/"):
            _assemble(engines, missing)
        mark_done(STAMP, key)
    if missing:
        say(f"dist/ has no CPU engine: {missing.reason}. To get it: {missing.remedy}")
    return missing


def _build_engines() -> tuple[list[Path], NoEmscripten | None]:
    if not engine.sources():
        reason = "cpp/ holds no .cpp file"
        return [], NoEmscripten(reason=reason, remedy="write the engine")
    found = find_emscripten(node())
    if isinstance(found, NoEmscripten):
        return [], found
    built = [engine.build_wasm(found, variant) for variant in engine.VARIANTS]
    return [path for pair in built for path in pair], None


def _key_of(engines: list[Path], missing: NoEmscripten | None) -> str:
    ours = [path for name in ("site", "py", "wgsl") for path in files_in(ROOT / name)]
    build = [*(ROOT / "tools").glob("*"), ROOT / "pyproject.toml"]
    inputs = [*ours, *(path for path in build if path.is_file()), *engines]
    return hash_of(
        hash_of_files(inputs, ROOT),
        asdict(missing) if missing else None,
    )


def _assemble(engines: list[Path], missing: NoEmscripten | None) -> None:
    """Put everything into a fresh folder, then let it take the place of dist/."""
    fresh = BUILD / "dist.part"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    if SITE.is_dir():
        shutil.copytree(SITE, fresh, dirs_exist_ok=True)
    vendor.fetch_all(fresh)
    (fresh / "engine").mkdir()
    for path in engines:
        shutil.copyfile(path, fresh / "engine" / path.name)
    package = wheel.build_wheel(fresh)
    described = describe(fresh, package, missing)
    (fresh / "build.json").write_text(json.dumps(described, indent=1) + "\n")
    shutil.rmtree(DIST, ignore_errors=True)
    fresh.rename(DIST)


def describe(
    folder: Path, package: Path, missing: NoEmscripten | None
) -> dict[str, object]:
    """Return what build.json holds.

    `engines` maps the name of each C++ build to its module; `engine_missing` is null or
    says why there is none and how to get it; `bytes` gives the size of each file, for
    progress while loading.
    """
    files = files_in(folder)
    modules = sorted((folder / "engine").glob("*.mjs"))
    return {
        "version": wheel.version(),
        "build": hash_of_files(files, folder)[:16],
        "wheel": package.name,
        "engines": {path.stem: f"engine/{path.name}" for path in modules},
        "engine_missing": asdict(missing) if missing else None,
        "bytes": {
            path.relative_to(folder).as_posix(): path.stat().st_size for path in files
        },
    }
