"""Times training in Chromium: one preset, each backend, by the page's own API."""

from tools import bundle, packages
from tools.node_env import node
from tools.paths import ROOT, TOOLS
from tools.shell import show


def run_bench(preset: str, steps: int, backends: list[str]) -> int:
    """Build dist/, train in Chromium on each backend and print a table.

    Args:
        preset: name of a preset.
        steps: training steps on each backend.
        backends: their names, in the order in which they run.

    Returns:
        The exit status: 0 when every backend trained.
    """
    packages.ensure(packages.CHROMIUM)
    bundle.build_dist()
    words = [node(), str(TOOLS / "bench.mjs"), preset, str(steps), *backends]
    return show(words, cwd=ROOT)
