"""Times cuBLAS on the products of a bench result, on the same card: a yardstick.

`python3 tools/cublas.py RESULT.json` runs on a host with a card and PyTorch, reads the
op tables that `bench.html?auto=ops` posted, and prints each distinct product with both
times. cuBLAS does the product alone, in f32 (TF32 off) and inside a CUDA graph, a group
of products as one batch; ours does the bias, GELU or sums of columns along with it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

TURNED = {"matmul_nt": "nt", "matmul_nt_mul": "nt"}
TURNED |= {"matmul_tn": "tn", "linear_bwd_wb": "tn", "grouped_linear_bwd_wb": "tn"}
WARM_UP_MS, PASS_MS, PASSES = 300.0, 20.0, 7


def product_rows(report: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield preset and row of each product in the op tables of a bench result."""
    for preset, table in report.get("ops", {}).items():
        for row in table.get("rows", ()):
            if row["op"].startswith(("matmul_", "linear_", "grouped_linear_")):
                yield preset, row


def sizes_of(row: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Return M, N, K and members of a row."""
    pairs = dict(word.split("=") for word in row["sizes"].split() if "+=" not in word)
    m, n, k = (int(pairs[letter]) for letter in "MNK")
    return m, n, k, int(pairs.get("G", 1))


def timer(torch: ModuleType) -> Callable[[str, int, int, int, int], float]:
    """Return what gives cuBLAS's ms of a form (nn, nt, tn), M, N, K and members."""

    def clock(form: str, m: int, n: int, k: int, members: int) -> float:
        batch = (members,) if members > 1 else ()
        a = torch.randn((*batch, *((k, m) if form == "tn" else (m, k))), device="cuda")
        b = torch.randn((*batch, *((n, k) if form == "nt" else (k, n))), device="cuda")
        left = a.mT if form == "tn" else a
        right = b.mT if form == "nt" else b
        out = torch.empty((*batch, m, n), device="cuda")
        torch.matmul(left, right, out=out)  # chooses its kernel before the capture
        graph = torch.cuda.CUDAGraph()
        inside = 20
        with torch.cuda.graph(graph):
            for _ in range(inside):
                torch.matmul(left, right, out=out)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def replay_ms(n_replays: int) -> float:
            start.record()
            for _ in range(n_replays):
                graph.replay()
            end.record()
            torch.cuda.synchronize()
            return float(start.elapsed_time(end))

        rough = max(replay_ms(10) / 10, 1e-3)
        n_replays = max(1, int(PASS_MS / rough))
        passes = (replay_ms(n_replays) for _ in range(PASSES))
        return statistics.median(passes) / n_replays / inside

    return clock


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, help="JSON that the bench page posted")
    given = parser.parse_args()
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        sys.exit("cublas: PyTorch is missing; wanted a build of it with CUDA")
    if not torch.cuda.is_available():
        sys.exit("cublas: PyTorch sees no CUDA device here")
    torch.backends.cuda.matmul.allow_tf32 = False
    clock = timer(torch)
    square = torch.randn((4096, 4096), device="cuda")
    for _ in range(int(WARM_UP_MS / 2.7)):  # raises the card's clocks
        square @ square
    known: dict[tuple[str, int, int, int, int], float] = {}
    totals: dict[str, list[float]] = {}
    print("| preset | op | M, N, K, members | row | ours, us | cuBLAS | of its rate |")
    print("|---|---|---|---|---|---|---|")
    for preset, row in product_rows(json.loads(given.result.read_text())):
        form = TURNED.get(row["op"], "nn")
        key = (form, *sizes_of(row))
        if key not in known:
            known[key] = clock(*key)
        ours, theirs = row["ms"], known[key]
        total = totals.setdefault(preset, [0.0, 0.0])
        total[0] += row["count"] * ours
        total[1] += row["count"] * theirs
        sizes = ", ".join(map(str, key[1:]))
        ratio = f"{1000 * ours:.1f} | {1000 * theirs:.1f} | {theirs / ours:.0%}"
        print(f"| {preset} | {row['op']} | {sizes} | {row['row']} | {ratio} |")
    for preset, (ours, theirs) in totals.items():
        print(f"{preset}: {ours:.3f} ms, cuBLAS {theirs:.3f} ms: {theirs / ours:.0%}")


if __name__ == "__main__":
    main()
