"""Runs all tests: Python and C++ by pytest, the page in Chromium by Playwright."""

import json
import os
import shutil

from tools import bundle, packages
from tools.node_env import module_program
from tools.paths import RESULTS, ROOT
from tools.python_env import python_with_torch
from tools.shell import say, show

WEBGPU_RAN = RESULTS / "webgpu-ran.json"


def run_tests(*, is_full: bool) -> int:
    """Set up, build and run every test; all runners run even when one fails.

    Args:
        is_full: run the larger presets, too.

    Returns:
        0 when all passed, the page has its CPU engine, and WebGPU ran something.
    """
    packages.ensure(*packages.ALL)
    missing = bundle.build_dist()
    python = python_with_torch()
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir()
    full = {"TABGRAD_FULL": "1"} if is_full else {}
    path = {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    marks = ["-m", ""] if is_full else []
    failures = []
    say("Python and C++ tests (pytest)")
    if show([python, "-m", "pytest", "-q", *marks], cwd=ROOT, env={**full, **path}):
        failures.append("pytest failed")
    say("the page in Chromium (Playwright)")
    playwright = module_program("@playwright/test/cli.js")
    if show([*playwright, "test"], cwd=ROOT, env={**full, **path}):
        failures.append("Playwright failed")
    if missing:
        failures.append(f"no CPU engine: {missing.reason}; {missing.remedy}")
    if not webgpu_count():
        failures.append(
            f"nothing ran on WebGPU: {WEBGPU_RAN.relative_to(ROOT)} is missing or 0"
        )
    for failure in failures:
        say(f"failed: {failure}")
    say(f"tests: {'failed' if failures else 'all passed'}")
    return 1 if failures else 0


def webgpu_count() -> int:
    """Return how many runs on WebGPU the page's tests noted."""
    if not WEBGPU_RAN.is_file():
        return 0
    return int(json.loads(WEBGPU_RAN.read_text())["ran"])
