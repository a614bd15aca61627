"""The tuner: takes the fastest row that is right, remembers it, and can be told no."""

import asyncio
import itertools
import json
from collections.abc import Sequence

import numpy as np
import pytest

from tabgrad.backends import tuner as tuner_module
from tabgrad.backends.base import no_progress
from tabgrad.backends.choice import call_key
from tabgrad.backends.tuner import BUDGET_S, Tuner
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.variants import base_variant
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan, build_plan
from tabgrad.presets import preset
from tabgrad.tensors import Array

DEVICE = (frozenset({"timestamp-query"}), 1 << 14)


def row(name: str, op: str = "gelu_fwd", **given: object) -> Variant:
    return Variant(name, op, op, len, **given)


ROWS = (
    *(base_variant(op) for op in ("gelu_fwd", "gelu_bwd", "linear_fwd")),
    row("fast"),
    row("slow"),
    row("wrong"),
    row("broken"),
    row("lanes", needs=frozenset({"subgroups"})),
    row("large", fits=lambda c: c["R"] > 1 << 20),
    row("fast", "linear_fwd"),
)
MS = {BASE: 0.02, "fast": 0.005, "slow": 0.3, "wrong": 0.001}


class FakeBench:
    """Rows with given times; its clock rounds as browsers do."""

    def __init__(self) -> None:
        self.loaded: list[Call] = []
        self.cold: list[bool] = []
        self.held: list[list[str]] = []
        self.timed: list[str] = []
        self.compiled: list[set[tuple[str, str]]] = []
        self.ms = dict(MS)
        self.seconds = 0.0
        self.is_free = True
        self.is_quick = True

    async def can_evict(self) -> bool:
        return self.is_quick

    async def load(
        self, call: Call, rows: Sequence[Variant], *, is_cold: bool = False
    ) -> dict[str, str]:
        self.loaded.append(call)
        self.cold.append(is_cold)
        self.is_free = False
        names = [r.name for r in rows]
        return {"broken": "the GPU does not compile it"} if "broken" in names else {}

    async def wait(self, work):
        return await work

    async def suspects(self, rows: Sequence[str]) -> list[str]:
        self.held.append(list(rows))
        return [name for name in rows if name in ("slow", "wrong")]  # one is right

    async def outputs(self, name: str) -> dict[str, Array]:
        assert name != "broken"
        call = self.loaded[-1]
        off = 1e-2 if name == "wrong" else 1e-7
        return {a.name: np.full(3, 1 + off, np.float32) for a in call.op.outputs}

    def is_compiled(self, call: Call, rows: Sequence[Variant]) -> bool:
        return True

    async def compile(self, pairs) -> None:
        self.compiled.append({(call.op.name, r.name) for call, r in pairs})

    async def time_ms(self, warm_up, rows, rounds: int) -> list[list[float]]:
        assert warm_up[0] == BASE
        out = []
        for name, repeats in rows:
            assert name != "broken"
            self.timed.append(name)
            self.seconds += rounds * repeats * self.ms[name] / 1000
            jitter = [1 + 0.01 * (i % 3) for i in range(rounds)]
            exact = [repeats * self.ms[name] * j for j in jitter]
            out.append([round(ms / 0.065) * 0.065 for ms in exact])
        return out

    def free(self) -> None:
        self.is_free = True


class FakeStore(dict):
    async def get(self, key: str) -> str | None:
        return super().get(key)

    async def put(self, key: str, text: str) -> None:
        self[key] = text


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabgrad.backends.variants.VARIANTS", ROWS)
    bases = {r.op: r for r in ROWS if r.name == BASE}

    def base(op: str) -> Variant:
        return bases.get(op) or row(BASE, op)

    monkeypatch.setattr(tuner_module, "base_variant", base)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(preset("Nano"), 2000, is_fused=False)


def chosen(tuner: Tuner, plan: Plan, progress=no_progress) -> dict[str, str]:
    pick = asyncio.run(tuner.choose(plan, progress))
    return {call.op.name: pick("train", call).name for call in plan.programs["train"]}


def _is_of(table_row: dict, call: Call) -> bool:
    return f"{table_row['op']} {table_row['sizes']}" == call_key(call)


def tuner_of(bench: FakeBench, store: FakeStore, build: str = "1") -> Tuner:
    return Tuner(
        [bench], store, f"card | browser | {build}", DEVICE, lambda: bench.seconds
    )


def test_the_fastest_right_row_is_taken_and_others_are_told(plan: Plan) -> None:
    bench = FakeBench()
    tuner = tuner_of(bench, FakeStore())
    names = chosen(tuner, plan)
    assert names["gelu_fwd"] == names["linear_fwd"] == "fast"
    assert names["gelu_bwd"] == names["adamw_update"] == BASE
    gelu = [r for r in asyncio.run(tuner.table()) if r["op"] == "gelu_fwd"]
    assert set(gelu[0]["ms"]) == {BASE, "fast", "slow"}
    assert gelu[0]["ms"]["fast"] == pytest.approx(0.005, rel=0.05)
    assert gelu[0]["refused"]["broken"] == "the GPU does not compile it"
    assert "deviates from the base kernel: gelu_fwd" in gelu[0]["refused"]["wrong"]
    assert bench.is_free


def test_every_row_is_held_to_the_base_row(plan: Plan) -> None:
    bench = FakeBench()
    bench.ms["wrong"] = 0.1  # not the fastest
    tuner = tuner_of(bench, FakeStore())
    chosen(tuner, plan)
    assert ["fast", "slow", "wrong"] in bench.held
    gelu = next(r for r in asyncio.run(tuner.table()) if r["op"] == "gelu_fwd")
    assert "deviates" in gelu["refused"]["wrong"]
    assert set(gelu["ms"]) == {BASE, "fast", "slow"}


@pytest.mark.parametrize("name", ["Nano", "Small", "Medium"])
def test_calls_of_a_plan_larger_than_a_cache_are_timed_out_of_it(name: str) -> None:
    bench = FakeBench()
    chosen(tuner_of(bench, FakeStore()), build_plan(preset(name), 2000))
    assert {*bench.cold} == {name == "Medium"}


def test_a_device_that_evicts_slowly_times_calls_as_they_come() -> None:
    bench = FakeBench()
    bench.is_quick = False
    chosen(tuner_of(bench, FakeStore()), build_plan(preset("Medium"), 2000))
    assert {*bench.cold} == {False}


def test_a_base_row_that_seems_to_take_no_time_is_timed_again(plan: Plan) -> None:
    class Rounded(FakeBench):
        async def time_ms(self, warm_up, rows, rounds: int) -> list[list[float]]:
            if rounds == 1:
                return [[0.0] for _ in rows]
            return await super().time_ms(warm_up, rows, rounds)

    tuner = tuner_of(Rounded(), FakeStore())
    assert chosen(tuner, plan)["gelu_fwd"] == "fast"
    gelu = next(r for r in asyncio.run(tuner.table()) if r["op"] == "gelu_fwd")
    assert gelu["ms"][BASE] == pytest.approx(0.02, rel=0.05)


def test_a_row_near_the_fastest_is_timed_again_before_the_choice(plan: Plan) -> None:
    bench = FakeBench()
    bench.ms["slow"] = 0.0052
    assert chosen(tuner_of(bench, FakeStore()), plan)["gelu_fwd"] == "fast"
    assert bench.timed.count("slow") == 2  # roughly, and at last
    assert ("gelu_fwd", "slow") in bench.compiled[0]


def test_a_row_far_faster_than_the_base_row_is_timed_in_longer_passes(
    plan: Plan,
) -> None:
    bench = FakeBench()
    bench.ms |= {
        BASE: 1.0,
        "fast": 0.03,
        "wrong": 0.5,
    }  # a pass of 0.06 is told as 0.065
    tuner = tuner_of(bench, FakeStore())
    assert chosen(tuner, plan)["gelu_fwd"] == "fast"
    gelu = next(r for r in asyncio.run(tuner.table()) if r["op"] == "gelu_fwd")
    assert gelu["ms"]["fast"] == pytest.approx(0.03, rel=0.05)
    assert gelu["ms"][BASE] == pytest.approx(1.0, rel=0.1)


def test_a_call_of_another_program_is_held_to_the_row_of_the_nearest_sizes(
    plan: Plan,
) -> None:
    bench = FakeBench()
    tuner = tuner_of(bench, FakeStore())
    pick = asyncio.run(tuner.choose(plan, no_progress))
    (call,) = (c for c in plan.programs["logits"] if c.op.name == "gelu_fwd")
    assert pick("logits", call).name == "fast"
    assert bench.compiled[1] >= {("gelu_fwd", BASE), ("gelu_fwd", "fast")}
    assert not bench.compiled[1] & {("gelu_fwd", "slow"), ("gelu_fwd", "wrong")}
    row = next(r for r in asyncio.run(tuner.table()) if _is_of(r, call))
    assert set(row["ms"]) == {BASE, "fast"}


def test_no_row_is_tried_that_is_unlikely_at_these_sizes(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlikely = row("fast", is_likely=lambda c: c["R"] > 1 << 20)
    rows = tuple(unlikely if r == ROWS[3] else r for r in ROWS)
    monkeypatch.setattr("tabgrad.backends.variants.VARIANTS", rows)
    bench = FakeBench()
    assert chosen(tuner_of(bench, FakeStore()), plan)["gelu_fwd"] == BASE
    assert ("gelu_fwd", "fast") not in bench.compiled[0] | bench.compiled[1]


def test_each_distinct_call_is_tuned_once_the_costly_first(plan: Plan) -> None:
    bench = FakeBench()
    chosen(tuner_of(bench, FakeStore()), plan)
    sizes = [(c.op.name, json.dumps(c.consts), c.adds) for c in bench.loaded]
    assert len(set(sizes)) == len(sizes)
    assert {c.op.name for c in bench.loaded} == {"gelu_fwd", "linear_fwd"}
    assert bench.loaded[0].op.name == "linear_fwd"


def test_results_are_remembered_for_the_same_build_alone(plan: Plan) -> None:
    store = FakeStore()
    chosen(tuner_of(FakeBench(), store), plan)
    again = FakeBench()
    assert chosen(tuner_of(again, store), plan)["gelu_fwd"] == "fast"
    assert again.loaded == []
    other = FakeBench()
    other.ms["fast"] = 1.0
    assert chosen(tuner_of(other, store, "2"), plan)["gelu_fwd"] == BASE
    assert other.loaded


def test_what_was_forgotten_is_tuned_anew(plan: Plan) -> None:
    bench, store = FakeBench(), FakeStore()
    tuner = tuner_of(bench, store)
    chosen(tuner, plan)
    asyncio.run(tuner.forget())
    assert asyncio.run(tuner.table()) == []
    bench.ms["fast"] = 1.0
    assert chosen(tuner, plan)["gelu_fwd"] == BASE


def test_a_row_that_is_gone_from_the_table_gives_the_base_row(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FakeStore()
    chosen(tuner_of(FakeBench(), store), plan)
    left = tuple(r for r in ROWS if r.name != "fast")
    monkeypatch.setattr("tabgrad.backends.variants.VARIANTS", left)
    assert chosen(tuner_of(FakeBench(), store), plan)["gelu_fwd"] == BASE


def test_progress_is_told_and_skip_keeps_the_rest_at_base(plan: Plan) -> None:
    bench, seen = FakeBench(), []
    tuner = tuner_of(bench, FakeStore())

    def progress(what: str, done: int, total: int) -> None:
        seen.append((what, done))
        if done == 1:
            tuner.cut_short()

    names = chosen(tuner, plan, progress)
    assert seen[:2] == [("tuning", 0), ("tuning", 1)]
    assert len(bench.loaded) == 1
    assert names["gelu_fwd"] == BASE
    chosen(tuner, plan)
    assert chosen(tuner, plan)["gelu_fwd"] == "fast"


def test_tuning_ends_when_its_time_is_over(plan: Plan) -> None:
    bench = FakeBench()
    bench.ms = dict.fromkeys(bench.ms, 1000.0 * BUDGET_S)
    chosen(tuner_of(bench, FakeStore()), plan)
    assert len(bench.loaded) == 1


def test_a_base_row_that_fails_is_an_error_and_the_rest_is_kept(plan: Plan) -> None:
    class Failing(FakeBench):
        async def load(self, call: Call, rows: Sequence[Variant], **given):
            refused = await super().load(call, rows, **given)
            return {BASE: "no room"} if call.op.name == "gelu_fwd" else refused

    bench, store = Failing(), FakeStore()
    with pytest.raises(BackendError, match="kernel gelu_fwd: no room"):
        chosen(tuner_of(bench, store), plan)
    assert bench.is_free
    assert "linear_fwd" in store["card | browser | 1"]


class SlowCompiler(FakeBench):
    """Compiles products when another call is loaded, or never."""

    def __init__(self, *, is_ever_done: bool = True) -> None:
        super().__init__()
        self.is_ever_done = is_ever_done

    def is_compiled(self, call: Call, rows: Sequence[Variant]) -> bool:
        is_done = self.is_ever_done and len(self.loaded) > 0
        return call.op.name != "linear_fwd" or is_done


def test_calls_that_are_compiled_come_before_costlier_ones_that_are_not(
    plan: Plan,
) -> None:
    bench = SlowCompiler()
    assert chosen(tuner_of(bench, FakeStore()), plan)["linear_fwd"] == "fast"
    costliest_first = FakeBench()
    chosen(tuner_of(costliest_first, FakeStore()), plan)
    assert costliest_first.loaded[0].op.name == "linear_fwd"
    assert [call.op.name for call in bench.loaded[:2]] == ["gelu_fwd", "linear_fwd"]


def test_what_does_not_compile_is_loaded_at_last(plan: Plan) -> None:
    bench = SlowCompiler(is_ever_done=False)
    assert chosen(tuner_of(bench, FakeStore()), plan)["linear_fwd"] == "fast"


LOAD_TURNS = 20  # of the event loop


class Turns(FakeBench):
    """One of two benches, that notes what happens in a log of both."""

    def __init__(self, log: list[tuple[str, int, str]], number: int) -> None:
        super().__init__()
        self.log, self.number = log, number

    async def load(self, call: Call, rows: Sequence[Variant], **given):
        self.log.append(("load", self.number, call_key(call)))
        for _ in range(LOAD_TURNS):
            await asyncio.sleep(0)
        self.log.append(("loaded", self.number, call_key(call)))
        return await super().load(call, rows, **given)

    def free(self) -> None:
        self.log.append(("free", self.number, ""))
        super().free()

    async def time_ms(self, warm_up, rows, rounds: int) -> list[list[float]]:
        await asyncio.sleep(0)
        self.log.append(("time", self.number, call_key(self.loaded[-1])))
        return await super().time_ms(warm_up, rows, rounds)


def two_benches() -> tuple[Tuner, list[Turns], list[tuple[str, int, str]]]:
    log: list[tuple[str, int, str]] = []
    benches = [Turns(log, 0), Turns(log, 1)]
    return Tuner(benches, FakeStore(), "card", DEVICE, lambda: 0.0), benches, log


def test_with_two_benches_a_call_is_loaded_while_the_one_before_is_timed(
    plan: Plan,
) -> None:
    tuner, benches, log = two_benches()
    assert chosen(tuner, plan)["gelu_fwd"] == "fast"
    keys = [key for what, _, key in log if what == "load"]
    log[:] = [row for row in log if row[0] != "free"]
    assert len(keys) == len(set(keys)) == len(asyncio.run(tuner.table()))
    overlapping = 0
    for before, key in itertools.pairwise(keys):
        loading = next(i for i, (_, _, k) in enumerate(log) if k == key)
        timed = max(i for i, (_, _, k) in enumerate(log) if k == before)
        if loading < timed:
            overlapping += 1
            assert log[loading][1] != log[timed][1]
    # the calls of other programs begin when those of training are done
    assert overlapping == len(keys) - 2
    assert all(bench.is_free for bench in benches)


def test_a_load_under_way_is_waited_for_when_tuning_is_skipped(plan: Plan) -> None:
    tuner, benches, log = two_benches()

    def skip(_: str, done: int, __: int) -> None:
        if done == 1:
            tuner.cut_short()

    chosen(tuner, plan, skip)
    loads = [key for what, _, key in log if what == "load"]
    assert len(loads) == 2
    events = [what for what, _, _ in log]
    assert events.count("loaded") == 2
    assert events[-2:] == ["free", "free"]
    assert all(bench.is_free for bench in benches)
