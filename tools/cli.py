"""The commands of build.py."""

import argparse
import shutil
from collections.abc import Callable

from tools import bench as timing
from tools import bundle, gpu_host, testrun
from tools import check as checks
from tools import serve as server
from tools.paths import BUILD, CACHED, DIST, RESULTS, ROOT, cache_dir
from tools.shell import BuildError, say

PORT = 8000
DEFAULT_STEPS = 100
BACKENDS = ("webgpu", "wasm", "numpy")

Command = Callable[[argparse.Namespace], int]


def serve(given: argparse.Namespace) -> int:
    """Build dist/ and serve it on 127.0.0.1 until Ctrl-C."""
    with server.make_server(DIST, given.port) as listening:  # a port in use fails first
        bundle.build_dist()
        server.serve(listening)
    return 0


def dist(_given: argparse.Namespace) -> int:
    """Build dist/, the folder of static files that is the page."""
    bundle.build_dist()
    return 0


def test(given: argparse.Namespace) -> int:
    """Build everything and run all tests: Python, C++ and the page in Chromium."""
    return testrun.run_tests(is_full=given.full)


def check(given: argparse.Namespace) -> int:
    """Lint, format, types, layers and WGSL; reports every failure."""
    return checks.run_checks(is_staged=given.staged)


def bench(given: argparse.Namespace) -> int:
    """Time training in Chromium; with --gpu-host the whole bench on this card."""
    if given.gpu_host is not None:
        return gpu_host.run_gpu_host(given.gpu_host, given.seconds)
    return timing.run_bench(given.preset, given.steps, given.backends, given.threads)


def clean(given: argparse.Namespace) -> int:
    """Delete what was built here; with --cache what clones share, too."""
    folders = [BUILD, DIST, RESULTS, ROOT / "node_modules"]
    if given.cache:  # not the folder itself: the user named it, and may keep more there
        folders += [cache_dir() / name for name in CACHED]
    for folder in folders:
        if folder.is_symlink():
            say(f"deleting the link {folder}")
            folder.unlink()
        elif folder.exists():
            say(f"deleting {folder}")
            shutil.rmtree(folder)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line of build.py."""
    top = argparse.ArgumentParser(
        prog="build.py", description="Build, serve and test tabgrad."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(command: Command) -> argparse.ArgumentParser:
        text = command.__doc__ or ""
        name = command.__name__
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(command=command)
        return made

    add(serve).add_argument("--port", type=int, default=PORT, help="default: 8000")
    add(test).add_argument(
        "--full", action="store_true", help="the larger presets, too (long)"
    )
    add(dist)
    add(check).add_argument(
        "--staged", action="store_true", help="only what the staged files concern"
    )
    timed = add(bench)
    timed.add_argument("--preset", default="Small", help="default: Small")
    timed.add_argument(
        "--steps", type=int, default=DEFAULT_STEPS, help=f"default: {DEFAULT_STEPS}"
    )
    timed.add_argument(
        "--backends",
        nargs="+",
        default=BACKENDS,
        choices=(*BACKENDS, timing.TORCH),
        metavar="NAME",
        help=f"some of {' '.join(BACKENDS)}, which is the default, and {timing.TORCH}: "
        "PyTorch on the CPU, outside of the browser",
    )
    timed.add_argument("--threads", type=int, help="of wasm and torch; default: all")
    timed.add_argument(
        "--gpu-host",
        nargs="?",
        const="auto=all",
        metavar="QUERY",
        help="run bench.html?QUERY (default: auto=all) on this host's card; needs "
        "dist/ and a Chromium, no Node and no network",
    )
    timed.add_argument("--seconds", type=int, default=900, help="to wait for it")
    add(clean).add_argument(
        "--cache", action="store_true", help="downloads and toolchain, too"
    )
    return top


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = parser().parse_args(words)
    command: Command = given.command
    try:
        return command(given)
    except BuildError as error:
        say(f"failed: {error}")
        return 1
    except OSError as error:  # a full disk, a folder that is not ours
        say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
