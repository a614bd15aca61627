"""The bench on a host with a card, with a program in the browser's place."""

import json
import os
import sys
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


POSTER = """#!{python}
import sys, urllib.parse, urllib.request
urllib.request.urlopen(urllib.parse.urljoin(sys.argv[-1], "result"), {report!r})
"""


@pytest.mark.parametrize(
    ("report", "status", "words"),
    [
        ({"is_software": False, "adapter": "card", "peaks": {}}, 0, "on card;"),
        ({"is_software": True, "adapter": "soft", "peaks": {}}, 1, "no real adapter"),
        ({"is_software": None, "adapter": None, "cpu": {}}, 0, "on the CPU;"),
        ({"is_software": None, "cpu": {}, "peaks": {}}, 1, "no real adapter"),
        ({"error": "sections: got x"}, 1, "failed: sections: got x"),
    ],
)
def test_a_result_counts_on_a_real_adapter_or_of_the_cpu(
    report: dict[str, object],
    status: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(gpu_host, "say", told.append)
    (tmp_path / "bench.html").touch()
    script = tmp_path / "chromium"
    body = json.dumps(report).encode()
    script.write_text(POSTER.format(python=sys.executable, report=body))
    script.chmod(0o755)
    monkeypatch.setattr(gpu_host, "DIST", tmp_path)
    monkeypatch.setattr(gpu_host, "BUILD", tmp_path)
    monkeypatch.setenv("TABGRAD_CHROMIUM", str(script))
    assert gpu_host.run_gpu_host("auto=all", 20) == status
    assert words in " ".join(told)
    kept = json.loads((tmp_path / "bench/gpu-host.json").read_text())
    assert kept == report


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
