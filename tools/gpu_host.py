"""Runs the bench page on this host's graphics card, without a window.

For a host with a card and its Vulkan driver; it needs Python and a Chromium, but
neither Node nor a network when dist/ was built elsewhere and copied here. It matters:

- Chromium's own Vulkan loader, and `VK_DRIVER_FILES` naming the vendor's driver where
  it lies in no usual place
- `--use-angle=vulkan --enable-features=Vulkan --disable-vulkan-surface`
- no text on the page: such a host has no fonts, and a page that draws text ends there
"""

import functools
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from tools.paths import BUILD, DIST
from tools.serve import HOST, PageHandler, PageServer
from tools.shell import BuildError, say

DRIVERS = ("/usr/local/nvidia/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--enable-features=Vulkan",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
BROWSERS = (
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
)


class _Sink(PageHandler):
    """Serves the page and keeps what it posts to /result."""

    def __init__(
        self, *args: object, posted: list[bytes], came: threading.Event
    ) -> None:
        self.posted, self.came = posted, came
        super().__init__(*args, is_isolated=True, is_quiet=True, directory=str(DIST))

    def do_POST(self) -> None:  # noqa: N802 - the server's name
        """Keep a result."""
        self.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.came.set()


def run_gpu_host(query: str, seconds: int) -> int:
    """Open bench.html in Chromium, wait for its result and keep it in build/bench/.

    Args:
        query: of bench.html, as `auto=all&presets=Small`.
        seconds: to wait.

    Returns:
        0 when a result came from a real adapter, or is of the CPU engine alone.

    Raises:
        BuildError: there is no browser or no page, or nothing came in time.
    """
    if not (DIST / "bench.html").is_file():
        raise BuildError(f"{DIST} holds no page; run build.py dist, or copy one here")
    posted: list[bytes] = []
    came = threading.Event()
    handler = functools.partial(_Sink, posted=posted, came=came)
    server = PageServer((HOST, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{HOST}:{server.server_port}/bench.html?{query}"
    with tempfile.TemporaryDirectory() as profile:
        words = [_browser(), *FLAGS, f"--user-data-dir={profile}", url]
        with (Path(profile) / "log").open("w") as log:
            # Debian's command is a script that waits for the browser: a signal to
            # it alone would leave the browser running
            browser = subprocess.Popen(
                words,
                env=_environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                came.wait(seconds)
            finally:
                if browser.poll() is None:
                    os.killpg(browser.pid, signal.SIGTERM)
                browser.wait()
        said = (Path(profile) / "log").read_text(errors="replace")
    server.shutdown()
    server.server_close()
    if not posted:
        raise BuildError(f"no result within {seconds} s; Chromium said: {said[-2000:]}")
    return _keep(json.loads(posted[0]))


def _keep(report: dict[str, object]) -> int:
    path = BUILD / "bench" / "gpu-host.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    say(f"measured on {report.get('adapter') or 'the CPU'}; written to {path}")
    is_of_cpu = "cpu" in report and "peaks" not in report  # all else begins with peaks
    is_real = is_of_cpu or report.get("is_software") is False
    if "error" in report:
        say(f"failed: {report['error']}")
    elif not is_real:
        say("failed: this is no real adapter; is the vendor's Vulkan driver there?")
    return 0 if is_real and "error" not in report else 1


def _browser() -> str:
    named = os.environ.get("TABGRAD_CHROMIUM")
    for path in [*([named] if named else []), *BROWSERS]:
        if Path(path).is_file():
            return path
    raise BuildError("no Chromium here: install one, or name it in TABGRAD_CHROMIUM")


def _environment() -> dict[str, str]:
    """Return the environment, with the vendor's driver named where none was."""
    drivers = [f for folder in DRIVERS for f in sorted(Path(folder).glob("*.json"))]
    found = {"VK_DRIVER_FILES": str(drivers[0])} if drivers else {}
    return {**found, **os.environ}
