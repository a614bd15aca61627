"""The WebGPU backend against a device that records: limits, failures, transfers."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tabgrad.backends.variants import base_variant
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.backends.webgpu_memory import usable_bytes
from tabgrad.errors import BackendError
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.plan import Plan, build_plan, single_call_plan
from tabgrad.presets import preset
from tests.py.fake_gpu import FakeHost, FakeJsError

CORPUS_TOKENS = 1000
VOCAB = 256


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(preset("Nano"), CORPUS_TOKENS, is_fused=False)


def prepared(plan: Plan) -> tuple[FakeHost, WebgpuBackend]:
    host = FakeHost()
    backend = WebgpuBackend(host)
    asyncio.run(backend.prepare(plan))
    return host, backend


def prepare_fails(host: FakeHost, plan: Plan, match: str) -> None:
    backend = WebgpuBackend(host)
    with pytest.raises(BackendError, match=match):
        asyncio.run(backend.prepare(plan))
    assert all(buffer.is_destroyed for buffer in host.device.buffers)
    assert host.device.scope_depth == 0
    with pytest.raises(BackendError, match="before prepare"):
        asyncio.run(backend.run("train", 1, {}))


@pytest.mark.parametrize(
    ("buffer", "binding", "usable"),
    [
        (2_147_483_647, 2_147_483_648, 2_147_483_392),
        (1 << 32, 1 << 31, 1 << 31),
        (1023, 4096, 768),
    ],
)
def test_usable_size_is_the_lower_limit_on_a_multiple_of_256(
    buffer: int, binding: int, usable: int
) -> None:
    limits = {"maxBufferSize": buffer, "maxStorageBufferBindingSize": binding}
    assert usable_bytes(SimpleNamespace(**limits)) == usable
    assert WebgpuBackend(FakeHost(**limits)).max_storage_bytes == usable


def test_storage_over_the_limit_is_named_before_anything_is_made(plan: Plan) -> None:
    host = FakeHost(maxBufferSize=1 << 14)
    prepare_fails(host, plan, r"storage page\.0\.w needs 87,040 bytes, but a fake GPU")
    assert host.device.buffers == host.device.modules == []


def test_range_error_of_a_buffer_names_it_and_frees_the_others(plan: Plan) -> None:
    host = FakeHost()
    third = list(plan.storages)[2]

    def refuse(label: str) -> None:
        if label == third:
            raise FakeJsError("Array buffer allocation failed")

    host.device.before_buffer = refuse
    prepare_fails(
        host, plan, rf"cannot allocate {third}, .*allocation failed; choose a smaller"
    )
    assert len(host.device.buffers) == 2


def test_out_of_memory_in_a_scope_names_the_storage_and_frees_all(plan: Plan) -> None:
    host = FakeHost()
    last = list(plan.storages)[-1]

    def out_of_memory(label: str) -> None:
        if label == last:
            host.device.caught.append(SimpleNamespace(message="Out of memory"))

    host.device.before_buffer = out_of_memory
    prepare_fails(host, plan, f"cannot allocate {last}, .*Out of memory; choose")
    assert len(host.device.buffers) == len(plan.storages)


def test_compile_error_names_the_kernel_and_quotes_the_line(plan: Plan) -> None:
    host = FakeHost()
    fault = {"type": "error", "lineNum": 1, "linePos": 1, "message": "no such type"}
    host.device.messages = [SimpleNamespace(**fault)]
    prepare_fails(
        host, plan, r"does not compile kernel \w+, 'const WG: u32 = 64u;': no such type"
    )


def test_compile_warning_is_kept_for_the_tests(plan: Plan) -> None:
    host = FakeHost()
    fault = {"type": "warning", "lineNum": 0, "linePos": 0, "message": "odd"}
    host.device.messages = [SimpleNamespace(**fault)]
    backend = WebgpuBackend(host)
    asyncio.run(backend.prepare(plan))
    assert backend.warnings[0].endswith("odd")


def test_refused_pipeline_names_the_kernel(plan: Plan) -> None:
    host = FakeHost()
    host.device.pipeline_error = FakeJsError("too many registers")
    prepare_fails(host, plan, r"kernel \w+: the GPU made no pipeline: too many reg")


def test_refused_bind_group_frees_all(plan: Plan) -> None:
    host = FakeHost()
    host.device.createBindGroup = lambda _: host.device.caught.append(
        SimpleNamespace(message="binding 3 is too large")
    )
    prepare_fails(host, plan, "WebGPU bind groups: binding 3 is too large")


def test_lost_device_refuses_a_plan_in_words(plan: Plan) -> None:
    host = FakeHost()
    host.player.failure = "the GPU device was lost (unknown): gone"
    prepare_fails(host, plan, r"WebGPU: the GPU device was lost \(unknown\): gone")


def test_what_a_lost_device_refuses_is_told_as_its_loss(plan: Plan) -> None:
    host = FakeHost()
    host.device.pipeline_error = FakeJsError("a valid Instance no longer exists")
    host.player.why_lost = "the GPU device was lost (unknown): gone"
    prepare_fails(host, plan, r"WebGPU: the GPU device was lost \(unknown\): gone")


def test_dispatch_over_the_device_limit_is_refused_with_the_kernel(plan: Plan) -> None:
    host = FakeHost(maxComputeWorkgroupsPerDimension=4)
    prepare_fails(host, plan, r"kernel embed_fwd: got a dispatch of 64 x 1 workgroups")


def test_layouts_have_the_access_of_the_contract() -> None:
    call, tensors = case_call(OPS["embed_bwd"], {"R": 2, "T": 1, "C": 3, "V": 5}, False)
    host, _ = prepared(single_call_plan(call, tensors))
    (layout,) = host.device.layouts
    kinds = [entry["buffer"]["type"] for entry in layout["entries"]]
    assert kinds == ["read-only-storage", "read-only-storage", "storage", "storage"]
    assert {entry["visibility"] for entry in layout["entries"]} == {4}
    (group,) = host.device.bind_groups
    bound = [e["resource"]["buffer"].label for e in group["entries"]]
    assert bound == ["ids", "dy", "dwte", "dwpe"]
    assert [e["resource"]["size"] for e in group["entries"]] == [8, 24, 60, 12]


def test_views_are_bound_at_their_offset(plan: Plan) -> None:
    host, _ = prepared(plan)
    for group in host.device.bind_groups:
        for entry in group["entries"]:
            bound = entry["resource"]
            assert bound["offset"] + bound["size"] <= bound["buffer"].size
    offsets = {
        (e["resource"]["buffer"].label, e["resource"]["offset"])
        for g in host.device.bind_groups
        for e in g["entries"]
    }
    place = plan.places["h.0.mlp.c_fc.weight"]
    assert (place.storage, place.offset) in offsets
    assert place.offset > 0


def test_one_pipeline_a_source_and_one_bind_group_a_call(plan: Plan) -> None:
    host, backend = prepared(plan)
    n_calls = sum(len(calls) for calls in plan.programs.values())
    n_buffers, n_pipelines, n_groups = host.player.sizes
    assert (n_buffers, n_groups) == (len(plan.storages), n_calls)
    assert n_pipelines == len({m["code"] for m in host.device.modules}) < n_calls
    words = host.player.programs["train"]
    assert len(words) == 5 * len(plan.programs["train"])
    assert words[::5] == [0] * len(plan.programs["train"])
    asyncio.run(backend.prepare(plan))
    assert len(host.device.pipelines) == n_pipelines  # compiled once, kept


class _TwoPasses:
    """Chooses a row of two passes with scratch for gelu_fwd."""

    async def choose(self, plan: Plan, progress: Any) -> Any:
        second = replace(base_variant("gelu_fwd"), name="second", constants={"WG": 32})
        two = {"name": "two", "scratch": lambda c: 4 * c["R"], "then": (second,)}
        return lambda _, call: (
            replace(base_variant("gelu_fwd"), **two)
            if call.op.name == "gelu_fwd"
            else base_variant(call.op.name)
        )


def test_passes_of_a_row_follow_each_other_and_share_scratch(plan: Plan) -> None:
    host = FakeHost()
    backend = WebgpuBackend(host, _TwoPasses())
    asyncio.run(backend.prepare(plan))
    calls = plan.programs["train"]
    n_gelu = sum(call.op.name == "gelu_fwd" for call in calls)
    assert len(host.player.programs["train"]) == 5 * (len(calls) + n_gelu)
    scratch = [b for b in host.device.buffers if b.label == "scratch"]
    assert [b.size for b in scratch] == [4 * 128]
    groups = [g for g in host.device.bind_groups if g["label"].startswith("gelu_fwd")]
    bound = [g["entries"][2]["resource"]["buffer"] for g in groups[:2]]
    assert bound == scratch * 2
    labels = [m["label"] for m in host.device.modules]
    assert {"gelu_fwd:two", "gelu_fwd:second"} <= set(labels)


def test_progress_counts_every_kernel(plan: Plan) -> None:
    seen: list[tuple[str, int, int]] = []
    host = FakeHost()
    backend = WebgpuBackend(host)
    asyncio.run(backend.prepare(plan, lambda *given: seen.append(given)))
    n = len(host.device.pipelines)
    assert seen == [("kernels", done, n) for done in range(n + 1)]


def test_run_packs_writes_and_unpacks_reads(plan: Plan) -> None:
    host, backend = prepared(plan)
    writes = {
        "io.index": np.array([7], np.uint32),
        "wpe.weight": np.ones((16, 32), np.float32),
    }
    out = asyncio.run(backend.run("train", 3, writes, ["io.loss", "io.index"]))
    program, steps, packed, write_rows, read_rows = host.player.runs[-1]
    number = {name: i for i, name in enumerate(plan.storages)}
    place = plan.places["wpe.weight"]
    assert (program, steps) == ("train", 3)
    assert packed == writes["io.index"].tobytes() + writes["wpe.weight"].tobytes()
    assert write_rows == [
        [number["io.index"], 0, 0, 4],
        [number[place.storage], place.offset, 4, 2048],
    ]
    assert [row[2:] for row in read_rows] == [[0, 256], [256, 4]]
    assert out["io.index"].tolist() == [64]
    assert out["io.loss"].shape == (64,)
    assert out["io.loss"].dtype == np.float32


def test_reads_and_writes_go_in_slices(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabgrad.backends.webgpu.SLICE_BYTES", 40)
    host, backend = prepared(plan)
    asyncio.run(backend.write("io.loss", np.ones(25, np.float32), 3))
    rows = [run[3][0] for run in host.player.runs]
    assert [row[1:] for row in rows] == [[12, 0, 40], [52, 0, 40], [92, 0, 20]]
    assert asyncio.run(backend.read("io.loss", 60)).shape == (4,)
    assert asyncio.run(backend.read("io.loss", 1, 11)).shape == (11,)
    assert [run[4][0][1] for run in host.player.runs[-2:]] == [4, 44]


@pytest.mark.parametrize(
    ("tensor", "values", "match"),
    [
        ("io.nothing", np.zeros(1, np.float32), "has no tensor 'io.nothing'"),
        ("io.loss", np.zeros(65, np.float32), r"elements 0 to 65, wanted 0 to 64"),
        ("io.prompt", np.full(16, VOCAB, np.uint32), "index 256, wanted 0 to 255"),
        ("io.corpus", np.array([3, VOCAB], np.uint32), "index 256, wanted 0 to 255"),
        ("io.offsets", np.full((64, 8), 984, np.uint32), "984, wanted 0 to 983"),
    ],
)
def test_write_that_does_not_fit_is_refused_before_upload(
    plan: Plan, tensor: str, values: Any, match: str
) -> None:
    host, backend = prepared(plan)
    with pytest.raises(BackendError, match=match):
        asyncio.run(backend.run("train", 1, {tensor: values}))
    with pytest.raises(BackendError, match=match):
        asyncio.run(backend.write(tensor, values))
    assert host.player.runs == []


def test_unknown_program_is_refused(plan: Plan) -> None:
    _, backend = prepared(plan)
    with pytest.raises(BackendError, match="got 'dance', wanted train, eval, logits"):
        asyncio.run(backend.run("dance", 1, {}))


def test_failure_of_the_player_is_told_in_its_words(plan: Plan) -> None:
    host, backend = prepared(plan)
    host.player.run_error = FakeJsError("kernel gelu_fwd failed on the GPU: why")
    with pytest.raises(BackendError, match="WebGPU: kernel gelu_fwd failed on the"):
        asyncio.run(backend.run("train", 1, {}))


def test_free_gives_all_back_and_may_be_repeated(plan: Plan) -> None:
    host, backend = prepared(plan)
    backend.free()
    backend.free()
    assert all(buffer.is_destroyed for buffer in host.device.buffers)
    assert host.player.unloaded == 1
