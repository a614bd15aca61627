"""Every check that needs no test to run: lint, format, types, layers, WGSL, spelling.

All of them run, and every failure is shown. Tint, the second WGSL compiler, is the
browser's: the tests put each kernel through it.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tools import packages
from tools.node_env import ensure_modules, module_program
from tools.paths import BUILD, ROOT
from tools.python_env import python_with_tools
from tools.shell import run, say

TSCONFIGS = ("tsconfig.page.json", "tsconfig.worker.json")

Programs = Callable[[], Iterable[list[str]]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check: the files that it concerns, and the commands that it runs."""

    name: str
    concerns: tuple[str, ...]
    programs: Programs


def run_checks(*, is_staged: bool) -> int:
    """Run the checks and print what each has to say.

    Args:
        is_staged: only those that the files staged in git concern.

    Returns:
        0 when all passed.
    """
    packages.ensure(packages.GIT, packages.NPM, packages.VENV, packages.VULKAN)
    python = python_with_tools()
    ensure_modules()
    env = {
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'py'}:{ROOT}",
    }
    staged = _staged() if is_staged else None
    failed = []
    passed = 0
    for check in checks():
        if staged is not None and not _is_concerned(check, staged):
            continue
        outputs = [_failure_of(words, env) for words in check.programs()]
        complaints = [text for text in outputs if text is not None]
        say(f"{check.name}: {'FAILED' if complaints else 'ok'}")
        for text in complaints:
            print(text, flush=True)
        passed += not complaints
        failed += [check.name] if complaints else []
    if failed:
        say(f"failed: {', '.join(failed)}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


def checks() -> list[Check]:
    """Return every check, in the order in which they run."""
    python = (".py", "pyproject.toml")
    script = (".js", ".mjs", ".json", ".css")
    kernels = (".wgsl", ".py")
    return [
        Check(name="ruff", concerns=python, programs=_ruff),
        Check(name="mypy", concerns=python, programs=lambda: [["mypy"]]),
        Check(name="layers", concerns=python, programs=_layers),
        Check(name="clang-format", concerns=(".cpp", ".h"), programs=_clang_format),
        Check(name="biome", concerns=script, programs=_biome),
        Check(name="tsc", concerns=script, programs=_tsc),
        Check(name="naga", concerns=kernels, programs=_naga),
        Check(name="shellcheck", concerns=(".ci/run",), programs=_shellcheck),
        Check(name="codespell", concerns=("",), programs=_codespell),
    ]


def _ruff() -> list[list[str]]:
    return [["ruff", "check", "."], ["ruff", "format", "--check", "."]]


def _layers() -> list[list[str]]:
    return [["lint-imports", "--no-cache"]]


def _clang_format() -> list[list[str]]:
    files = _tracked("*.cpp", "*.h")
    return [["clang-format", "--dry-run", "-Werror", *files]] if files else []


def _biome() -> list[list[str]]:
    biome = module_program("@biomejs/biome/bin/biome")
    return [[*biome, "check", "--error-on-warnings", "--no-errors-on-unmatched", "."]]


def _tsc() -> list[list[str]]:
    tsc = module_program("typescript/bin/tsc")
    if not _tracked("site/*.js"):
        return []
    each = [[*tsc, "--project", config] for config in TSCONFIGS]
    return [*each, ["python", "-m", "tools.check_tsconfig", *tsc]]


def _naga() -> list[list[str]]:
    if not _tracked("wgsl/*.wgsl"):
        return []
    folder = BUILD / "wgsl"
    shutil.rmtree(folder, ignore_errors=True)
    return [
        ["python", "-m", "tabgrad.backends.wgsl", "--dump", str(folder)],
        ["python", "-m", "tools.check_wgsl", str(folder)],
    ]


def _shellcheck() -> list[list[str]]:
    return [["shellcheck", ".ci/run"]]


def _codespell() -> list[list[str]]:
    files = [name for name in _tracked() if not name.endswith((".lock", "-lock.json"))]
    return [["codespell", *files]]


def _tracked(*patterns: str) -> list[str]:
    """Return the files that git tracks, or would without its ignore list."""
    listed = run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
    )
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def _staged() -> list[str]:
    return run(["git", "diff", "--cached", "--name-only"], cwd=ROOT).splitlines()


def _is_concerned(check: Check, names: list[str]) -> bool:
    return any(name.endswith(check.concerns) for name in names)


def _failure_of(words: list[str], env: dict[str, str]) -> str | None:
    """Run one program; return None when it passed, else all that it said."""
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if not done.returncode:
        return None
    shown = " ".join(Path(words[0]).name if i == 0 else w for i, w in enumerate(words))
    return f"$ {shown[:200]}\n{done.stdout.rstrip()}"
