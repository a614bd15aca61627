"""Experiments: every way can be done, makes what the first makes, and is valid WGSL."""

import asyncio
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tabgrad.backends.base import no_progress
from tabgrad.backends.lab import EXPERIMENTS
from tabgrad.backends.lab_bench import WayRows, compare_steps, step_sources
from tabgrad.backends.wgsl import assemble_passes
from tabgrad.bridge_measure import STEPS
from tabgrad.ops import OPS
from tabgrad.plan import single_call_plan
from tabgrad.presets import PRESETS
from tools import check_wgsl
from tools.cli import PORT
from tools.serve import HOST

DEVICE = (frozenset({"subgroups"}), 1 << 15)
NAMES = pytest.mark.parametrize("name", EXPERIMENTS)
SIZES = pytest.mark.parametrize("is_small", [True, False], ids=["small", "whole"])


@NAMES
@SIZES
def test_every_way_can_be_done_and_makes_what_the_first_makes(
    name: str, is_small: bool
) -> None:
    experiment = EXPERIMENTS[name](is_small)
    assert len({way.name for way in experiment.ways}) == len(experiment.ways) > 1
    shapes = [
        [experiment.tensors[tensor].shape for tensor in way.outputs]
        for way in experiment.ways
    ]
    assert all(each in (shapes[0], []) for each in shapes)
    for way in experiment.ways:
        assert way.can_do(*DEVICE), way.name


@NAMES
def test_a_way_reads_only_what_is_given_or_made_by_it(name: str) -> None:
    experiment = EXPERIMENTS[name](False)
    for way in experiment.ways:
        known = set(experiment.inputs)
        for call, _ in way.steps:
            assert set(call.tensors_read()) <= known, way.name
            known |= set(call.tensors_written())
        assert set(way.outputs) <= known


@NAMES
def test_each_way_is_done_by_its_own_rows(name: str) -> None:
    experiment = EXPERIMENTS[name](True)
    (call, _), *_ = experiment.ways[0].steps
    plan = single_call_plan(call, experiment.tensors)
    pick = asyncio.run(WayRows(experiment.ways).choose(plan, no_progress))
    for way in experiment.ways:
        assert all(pick(way.name, call) is row for call, row in way.steps)


def test_a_way_that_needs_more_memory_than_the_device_has_is_told() -> None:
    ways = EXPERIMENTS["workgroup memory"](True).ways
    no_features: frozenset[str] = frozenset()
    assert [way.can_do(no_features, 1 << 14) for way in ways] == [True] * 3 + [False]


def test_places_of_one_buffer_do_not_overlap_and_can_be_bound() -> None:
    experiment = EXPERIMENTS["32 small dispatches"](False)
    offsets = [place.offset for place in experiment.places.values()]
    assert len(offsets) == 32
    assert all(offset % 256 == 0 for offset in offsets)
    ends = [
        place.offset + experiment.tensors[name].n_bytes
        for name, place in experiment.places.items()
    ]
    assert all(end <= start for end, start in zip(ends, offsets[1:], strict=False))


def test_naga_takes_every_kernel_of_the_lab() -> None:
    device = check_wgsl.make_device()
    sources = {
        kernel.source: kernel.label
        for make in EXPERIMENTS.values()
        for way in make(False).ways
        for call, row in way.steps
        for kernel in assemble_passes(call, row)
    }
    steps = step_sources()
    sources |= {steps[name]: name for name in ("ring", "uniform", "advance")}
    assert len(sources) > 20
    for source, label in sources.items():
        assert check_wgsl.complaint_of(device, source) is None, label


def test_a_step_whose_sum_is_off_is_wrong_and_a_refusal_is_passed_on() -> None:
    times = {"dispatches": 3, "ms": [2.0, 1.0, 4.0], "js_ms": [0.5, 0.25, 1.0]}
    right = {"way": "right", "got": 7.0, "wanted": 7.0, **times}
    wrong = {**right, "way": "wrong", "got": 6.0}
    refusal = {"way": "new", "refused": "this browser has none"}

    async def clock(sources):
        assert set(sources) == {"ring", "uniform", "immediate", "advance"}
        return [right, wrong, refusal]

    first, second, third = asyncio.run(compare_steps(clock))
    wanted = {"ms": 2.0, "least_ms": 1.0, "most_ms": 4.0, "js_ms": 0.5}
    assert first == {"way": "right", "dispatches": 3, "error": 0.0, **wanted}
    assert second["error"] > 1
    assert third == refusal


LINK = re.compile(r"\[(bench\.html\?[^\]]+)\]\(([^)]+)\)")


def _links(page: Path) -> list[str]:
    """Return the queries of a note's links to the bench page."""
    found = LINK.findall(page.read_text())
    assert all(url == f"http://{HOST}:{PORT}/{shown}" for shown, url in found), page
    return [shown.partition("?")[2] for shown, _ in found]


def test_every_note_of_the_gpu_has_a_link_that_repeats_it(root: Path) -> None:
    names = re.findall(r"\[([a-z-]+)\]\(", (root / "docs/lab/README.md").read_text())
    gpu = [name for name in names if not name.startswith("cpu-")]
    assert len(gpu) > 10
    assert [n for n in gpu if not _links(root / f"docs/lab/{n}.md")] == []


def test_links_of_notes_name_what_there_is(root: Path) -> None:
    known = {
        "presets": set(PRESETS),
        "forms": {"matmul_nn", "matmul_nt", "matmul_tn"},
        "ops": set(OPS),
        "experiments": {*EXPERIMENTS, STEPS},
    }
    asked: set[str] = set()
    for page in (root / "docs/lab").glob("*.md"):
        for query in _links(page):
            for key, values in parse_qs(query, strict_parsing=True).items():
                names = set(values[0].split(","))
                assert names <= known.get(key, names), f"{page.name}: {key}"
                asked |= names if key == "experiments" else set()
    assert asked == known["experiments"]
