"""Times training in Chromium, and on PyTorch's CPU: one preset, each backend."""

import os

from tools import bundle, packages
from tools.node_env import node
from tools.paths import ROOT, TOOLS
from tools.python_env import python_with_torch
from tools.shell import run, show

TORCH = "torch"


def run_bench(
    preset: str, steps: int, backends: list[str], threads: int | None = None
) -> int:
    """Build dist/, train in Chromium on each backend and print a table.

    Args:
        preset: name of a preset.
        steps: training steps on each backend.
        backends: their names, in the order in which they run; "torch" is PyTorch on
            this machine's CPU, outside of the browser, and comes last.
        threads: of the CPU engine and of PyTorch; None: all.

    Returns:
        The exit status: 0 when every backend trained.
    """
    packages.ensure(packages.CHROMIUM)
    bundle.build_dist()
    count = threads or os.cpu_count() or 1
    beside = torch_row(preset, steps, count) if TORCH in backends else ""
    names = [name for name in backends if name != TORCH]
    sizes = [str(steps), str(count)]
    words = [node(), str(TOOLS / "bench.mjs"), preset, *sizes, beside, *names]
    return show(words, cwd=ROOT)


def torch_row(preset: str, steps: int, threads: int) -> str:
    """Return what PyTorch takes for the same steps, as JSON."""
    words = [preset, str(steps), str(threads)]
    module = "tests.parity.torch_time"
    env = {"PYTHONPATH": f"{ROOT / 'py'}{os.pathsep}{ROOT}"}
    return run([python_with_torch(), "-m", module, *words], env=env).strip()
