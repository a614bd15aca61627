"""The bench on a host with a card, with a program in the browser's place."""

import os
import time
from pathlib import Path

import pytest

from tools import gpu_host
from tools.shell import BuildError

SLEEPER = """#!/bin/sh
# as Debian's command: a script that waits for its browser
sleep 60 &
echo $! > "$(dirname "$0")/browser.pid"
wait
"""


def test_browser_that_posts_nothing_is_ended_with_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench.html").touch()
    script = tmp_path / "chromium"
    script.write_text(SLEEPER)
    script.chmod(0o755)
    monkeypatch.setattr(gpu_host, "DIST", tmp_path)
    monkeypatch.setenv("TABGRAD_CHROMIUM", str(script))
    with pytest.raises(BuildError, match="no result within 1 s"):
        gpu_host.run_gpu_host("auto=all", 1)
    pid = int((tmp_path / "browser.pid").read_text())
    end = time.monotonic() + 10
    while _is_running(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
