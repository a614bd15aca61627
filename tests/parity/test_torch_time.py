"""What the bench sets beside a tab."""

import json
import sys

from tests.parity import torch_time


def test_a_row_of_pytorch_has_what_the_table_of_the_bench_shows(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["torch_time", "Nano", "5", "1"])
    torch_time.main()
    row = json.loads(capsys.readouterr().out)
    assert row["backend"] == "PyTorch"
    assert row["adapter"].endswith(", threads: 1")
    spread = row["ms_per_step"]
    assert 0 < spread["min"] <= spread["median"] <= spread["p90"]
    assert row["first_step_ms"] > 0
    tokens = 8 * 16  # of a step of Nano
    assert abs(row["tokens_per_s"] * spread["median"] / 1e3 - tokens) < 1e-6
