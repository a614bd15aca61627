"""The border: requests in JSON, answers and events in JSON, faults in words."""

import asyncio
import importlib
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from tabgrad import bridge_backends
from tabgrad.backends.numpy import NumpyBackend

PROSE = "Now is the winter of our discontent made glorious summer. " * 40


class FakeJsError(Exception):
    """What JavaScript throws, in place of pyodide.ffi's JsException."""


class Host:
    """A worker that offers no GPU and keeps the events."""

    def __init__(self) -> None:
        self.events = []
        self.gpu = SimpleNamespace(ok=False, reason="the browser offers no GPU adapter")

    def emit(self, event):
        self.events.append(json.loads(event))

    async def breathe(self):
        await asyncio.sleep(0)

    async def openGpu(self):  # noqa: N802 - JavaScript's name
        return self.gpu

    async def openWasm(self, *wanted):  # noqa: N802 - as above
        raise FakeJsError("this build has no CPU engine")

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]


@pytest.fixture
def bridge(monkeypatch):
    ffi = ModuleType("pyodide.ffi")
    ffi.JsException = FakeJsError
    ffi.to_js = lambda value, dict_converter=None: value
    js = ModuleType("js")
    js.Object = SimpleNamespace(fromEntries=dict)
    js.Uint8Array = SimpleNamespace(new=bytearray)
    fakes = {"js": js, "pyodide": ModuleType("pyodide"), "pyodide.ffi": ffi}
    for name, module in fakes.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "tabgrad.bridge", raising=False)
    return importlib.import_module("tabgrad.bridge")


class Tab:
    """An engine with its host; `ask` returns values and raises nothing."""

    def __init__(self, bridge) -> None:
        self.host = Host()
        self.engine = bridge.start(self.host)

    async def ask(self, method, **request):
        return json.loads(await self.engine.call(method, json.dumps(request)))

    async def value(self, method, **request):
        answer = await self.ask(method, **request)
        assert "value" in answer, answer
        return answer["value"]

    async def fault(self, method, **request):
        answer = await self.ask(method, **request)
        assert "error" in answer, answer
        return answer["error"]

    async def start(self):
        await self.value("describe")
        await self.value("add_corpus", name="prose", text=PROSE, is_builtin=True)
        return self

    async def until(self, kind, count=1):
        while len(self.host.of(kind)) < count:
            await asyncio.sleep(0)


def in_tab(bridge, story):
    async def run():
        return await story(await Tab(bridge).start())

    return asyncio.run(run())


def test_describe_names_backends_and_says_why_one_is_missing(bridge):
    async def story(tab):
        return await tab.value("describe")

    got = in_tab(bridge, story)
    assert got["names"][-1] == "numpy"
    assert got["refused"]["webgpu"] == "the browser offers no GPU adapter"
    assert "offers no GPU adapter" in got["auto"]["reason"]


def test_train_answers_with_one_loss_a_step_and_its_events_say_the_same(bridge):
    async def story(tab):
        wanted = {"preset": "Nano", "backend": "numpy", "steps": 9, "eval_every": 3}
        return await tab.value("train", **wanted), tab.host

    got, host = in_tab(bridge, story)
    assert len(got["losses"]) == len(got["grad_norms"]) == 9
    assert got["val_steps"] == [3, 6, 9]
    assert len(got["val_losses"]) == 3
    assert got["backend"] == "numpy"
    assert got["n_params"] == 21_472
    assert got["ms_per_step"]["min"] <= got["ms_per_step"]["median"]
    assert [x for e in host.of("steps") for x in e["losses"]] == got["losses"]
    assert host.of("model")[0]["why"] == "chosen by hand"


@pytest.mark.parametrize(
    ("request_", "code", "words"),
    [
        ({"preset": "Gigantic"}, "TAB-CONFIG", "wanted Nano, Tiny"),
        (
            {"config": {"n_embd": 100, "n_head": 12}},
            "TAB-CONFIG",
            "try n_embd 96 or 108",
        ),
        ({"config": {"nlayers": 2}}, "TAB-CONFIG", "unknown hyperparameter nlayers"),
        ({"config": {"vocab_size": 65}}, "TAB-CONFIG", "the tokenizer decides it"),
        ({"config": 3}, "TAB-CONFIG", "wanted an object"),
        ({"step": 5}, "TAB-CONFIG", "unknown key step"),
        ({"steps": 0}, "TAB-CONFIG", "wanted 1 to"),
        ({"backend": "cuda"}, "TAB-BACKEND", "wanted auto"),
        ({"backend": "webgpu"}, "TAB-BACKEND", "offers no GPU adapter"),
        ({"corpus": "moby"}, "TAB-CORPUS", "wanted tinyshakespeare"),
        ({"tokenizer": "word"}, "TAB-CORPUS", "wanted byte or char"),
        ({"preset": []}, "TAB-CONFIG", "preset: got []"),
        ({"config": []}, "TAB-CONFIG", "config: got []"),
        ({"backend": {}}, "TAB-BACKEND", "got '{}'"),
        ({"corpus": ""}, "TAB-CORPUS", "corpus: got ''"),
        ({"tokenizer": {}}, "TAB-CORPUS", "wanted byte or char"),
        ({"plan": {}}, "TAB-CONFIG", "plan: got {}"),
    ],
)
def test_a_wrong_request_is_refused_in_words(bridge, request_, code, words):
    async def story(tab):
        return await tab.fault("train", **request_)

    fault = in_tab(bridge, story)
    assert fault["code"] == code
    assert words in fault["message"]


def test_a_key_that_is_null_counts_as_left_out(bridge):
    async def story(tab):
        wanted = {"preset": "Nano", "backend": "numpy", "steps": 2, "seed": None}
        return await tab.value("train", **wanted, config=None, corpus=None)

    assert len(in_tab(bridge, story)["losses"]) == 2


@pytest.mark.parametrize(
    ("method", "request_", "words"),
    [
        ("benchmark", {"n_steps": 0}, "n_steps: got 0"),
        ("benchmark", {"backends": "numpy"}, "backends: got 'numpy', wanted a list"),
        ("benchmark", {"backends": ["cuda"]}, "some of auto, webgpu, wasm, numpy"),
        ("benchmark", {"backends": [{}]}, "backends: got [{}]"),
        ("self_test", {"ops": 5}, "ops: got 5, wanted a list"),
        ("self_test", {"ops": ["nope"]}, "ops: got ['nope'], wanted a list"),
        ("self_test", {"ops": []}, "ops: got []"),
    ],
)
def test_lists_of_names_are_checked(bridge, method, request_, words):
    async def story(tab):
        return await tab.fault(method, **request_)

    fault = in_tab(bridge, story)
    assert fault["code"] == "TAB-CONFIG"
    assert words in fault["message"]


def test_a_short_corpus_is_refused_and_a_just_long_enough_one_trains(bridge):
    async def story(tab):
        short = await tab.value("add_corpus", name="short", text="x" * 16)
        enough = await tab.value("add_corpus", name="enough", text="x" * 17)
        wanted = {"preset": "Nano", "steps": 2, "backend": "numpy"}
        fault = await tab.fault("train", **wanted, corpus=short["corpus_id"])
        return fault, await tab.value("train", **wanted, corpus=enough["corpus_id"])

    fault, trained = in_tab(bridge, story)
    assert "16 tokens; this preset needs at least 17" in fault["message"]
    assert len(trained["losses"]) == 2


def test_validate_names_every_field_at_fault(bridge):
    async def story(tab):
        config = {"n_embd": 33, "n_head": 2, "lr": "fast"}
        return await tab.value("validate", preset="Nano", config=config, seed=-1)

    got = in_tab(bridge, story)
    assert set(got["faults"]) == {"n_embd", "lr", "seed"}
    assert got["faults"]["lr"] == "lr: got 'fast', wanted a number"
    assert got["plan"] is None


def test_validate_gives_the_plan_of_a_good_config(bridge):
    async def story(tab):
        return await tab.value("validate", preset="Small")

    got = in_tab(bridge, story)
    assert got["faults"] == {}
    assert got["plan"]["n_params"] == 366_432
    assert got["plan"]["bytes"] > 4 * 4 * 366_432


def test_plan_lists_tensors_and_dispatches(bridge):
    async def story(tab):
        return await tab.value("plan", preset="Nano")

    got = in_tab(bridge, story)
    assert got["dispatches"] > 20
    assert got["flops"] > 1e6
    named = {t["name"]: t for t in got["tensors"]}
    assert named["wte.weight"]["shape"] == [256, 32]
    assert named["h.0.attn.cache"]["shape"] == [16, 64]  # the plan of a CPU


def test_steps_by_the_border_give_the_losses_of_one_run(bridge):
    async def story(tab):
        wanted = {"preset": "Nano", "backend": "numpy", "steps": 4, "eval_every": 0}
        straight = await tab.value("train", **wanted)
        stepped = asyncio.ensure_future(tab.value("train", **wanted, pause_after=1))
        for n in range(1, 4):
            await tab.until("paused", n)
            await tab.value("resume", n_steps=1)
        return straight["losses"], (await stepped)["losses"]

    straight, stepped = in_tab(bridge, story)
    assert straight == stepped


def test_a_pause_asked_for_during_preparation_holds_the_first_step(bridge, monkeypatch):
    async def slowly(opener, kernels):
        await asyncio.sleep(0.01)
        return NumpyBackend()

    monkeypatch.setattr(bridge_backends.NumpyOpener, "open", slowly)

    async def story(tab):
        run = asyncio.ensure_future(tab.value("train", preset="Nano", steps=2))
        await tab.until("preparing")
        await tab.value("pause")
        await tab.until("paused")
        held = tab.host.of("paused")[0]["step"]
        await tab.value("resume")
        return held, await run

    held, result = in_tab(bridge, story)
    assert held == 0
    assert len(result["losses"]) == 2


def test_a_second_run_and_a_benchmark_are_refused_while_one_is_under_way(bridge):
    async def story(tab):
        run = asyncio.ensure_future(tab.value("train", preset="Nano", pause_after=1))
        await tab.until("paused")
        faults = [await tab.fault(m) for m in ("train", "benchmark", "self_test")]
        await tab.value("stop")
        return faults, await run

    faults, result = in_tab(bridge, story)
    assert [fault["code"] for fault in faults] == ["TAB-BUSY"] * 3
    assert result["is_stopped"]
    assert len(result["losses"]) == 1


def test_a_diverged_run_says_what_is_kept(bridge):
    async def story(tab):
        config = {"lr": 100, "grad_clip": 0}
        return await tab.fault("train", preset="Nano", config=config, steps=60)

    fault = in_tab(bridge, story)
    assert fault["code"] == "TAB-NONFINITE"
    assert "lower the learning rate" in fault["message"]
    assert "losses of the" in fault["kept"]


def test_sampling_streams_the_text_that_it_returns(bridge):
    async def story(tab):
        await tab.value("train", preset="Nano", steps=3, tokenizer="char")
        wanted = {"prompt": "Now", "max_tokens": 12, "seed": 5, "top_k": 9999}
        return await tab.value("sample", **wanted), tab.host

    got, host = in_tab(bridge, story)
    assert "".join(e["text"] for e in host.of("tokens")) == got["text"]
    assert got["n_tokens"] == len(got["text"]) == 12
    assert got["top_k"] == len(set(PROSE))


def test_a_sample_under_way_ends_with_its_text_when_a_run_begins(bridge):
    async def story(tab):
        await tab.value("train", preset="Nano", steps=3)
        sample = asyncio.ensure_future(tab.value("sample", prompt="a", max_tokens=5000))
        await tab.until("tokens", 4)
        return await tab.value("train", preset="Nano", steps=2), await sample

    run, got = in_tab(bridge, story)
    assert len(run["losses"]) == 2
    assert got["is_stopped"] and 4 <= got["n_tokens"] < 5000


def test_unknown_characters_of_a_prompt_are_named(bridge):
    async def story(tab):
        await tab.value("train", preset="Nano", steps=1, tokenizer="char")
        return await tab.value("sample", prompt="Hé?", max_tokens=3)

    got = in_tab(bridge, story)
    assert set(got["unknown"]) == {"H", "é", "?"}
    assert len(got["text"]) == 3


@pytest.mark.parametrize("prompt", ["", "\u4e2d"])
def test_a_prompt_without_tokens_is_seeded(bridge, prompt):
    async def story(tab):
        await tab.value("train", preset="Nano", steps=1, tokenizer="char")
        return await tab.value("sample", prompt=prompt, max_tokens=2)

    assert len(in_tab(bridge, story)["text"]) == 2


def test_greedy_sampling_takes_the_largest_logit(bridge):
    async def story(tab):
        await tab.value("train", preset="Nano", steps=5)
        logits = await tab.value("logits", text="Now is")
        wanted = {"prompt": "Now is", "max_tokens": 1, "temperature": 0}
        return logits, await tab.value("sample", **wanted)

    logits, got = in_tab(bridge, story)
    assert len(logits) == 256
    assert got["text"].encode() == bytes([logits.index(max(logits))])


def test_without_a_run_a_sample_comes_from_an_untrained_model(bridge):
    async def story(tab):
        wanted = {"prompt": "a", "max_tokens": 2, "backend": "numpy"}
        return await tab.value("sample", preset="Nano", **wanted)

    assert in_tab(bridge, story)["trained_steps"] == 0


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("temperature", -1, "wanted 0 to 1000"),
        ("temperature", "hot", "wanted a number"),
        ("top_k", -1, "wanted 0 (all) or more"),
        ("max_tokens", 0, "wanted 1 to"),
        ("max_tokens", 1.5, "wanted a whole number"),
    ],
)
def test_a_wrong_sampling_setting_is_refused(bridge, field, value, words):
    async def story(tab):
        return await tab.fault("sample", prompt="a", **{field: value})

    assert words in in_tab(bridge, story)["message"]


def test_the_benchmark_times_every_backend_after_its_first_step(bridge):
    async def story(tab):
        return await tab.value("benchmark", preset="Nano", n_steps=4), tab.host

    rows, host = in_tab(bridge, story)
    assert [row["backend"] for row in rows] == ["numpy"]
    assert rows[0]["n_steps"] == 4
    assert rows[0]["first_step_ms"] > 0
    assert rows[0]["ms_per_step"]["p25"] <= rows[0]["ms_per_step"]["p75"]
    assert [e["row"] for e in host.of("benchmarked")] == rows


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threads": 0}, "threads: got 0, wanted a whole number from 1 on"),
        ({"threads": True}, "threads: got True, wanted a whole number"),
        ({"build": "engine16"}, "build: got 'engine16', wanted engine64, engine32"),
        ({"tile": "8x8"}, "tile: got '8x8', wanted 4x8, 6x8, 4x16"),
    ],
)
def test_settings_that_are_none_are_refused(bridge, wrong, said):
    async def story(tab):
        return await tab.fault("train", preset="Nano", backend="numpy", **wrong)

    fault = in_tab(bridge, story)
    assert (fault["code"], said in fault["message"]) == ("TAB-CONFIG", True)


def test_kernels_without_a_gpu_say_why_and_take_no_rows(bridge):
    async def story(tab):
        await tab.value("skip_tuning")
        await tab.value("forget_kernels")
        wanted = {"preset": "Nano", "steps": 1, "backend": "numpy"}
        fault = await tab.fault("train", **wanted, kernels=3)
        await tab.value("train", **wanted, kernels={"gelu_fwd": "base"})
        return fault, await tab.value("kernels")

    fault, report = in_tab(bridge, story)
    assert "kernels: got 3, wanted auto, base or an object" in fault["message"]
    assert report["why"] == "no GPU was opened"
    assert report["rows"] == []


def test_the_self_test_holds_every_op_to_its_reference(bridge):
    async def story(tab):
        return await tab.value("self_test", backend="numpy")

    got = in_tab(bridge, story)
    assert {row["op"] for row in got} >= {"matmul_nn", "attention_bwd", "adamw_update"}
    assert all(row["passes"] for row in got)


def test_a_backend_that_fails_its_self_test_is_out(bridge, monkeypatch):
    async def broken(backend, op, consts, adds):
        found = await bridge_backends.check_case.original(backend, op, consts, adds)
        return [type(d)(**{**vars(d), "ratio": 7.0}) for d in found]

    broken.original = bridge_backends.check_case
    monkeypatch.setattr(bridge_backends, "check_case", broken)

    async def story(tab):
        fault = await tab.fault("train", preset="Nano", backend="numpy")
        return fault, await tab.fault("train", preset="Nano", backend="numpy")

    first, second = in_tab(bridge, story)
    assert first["code"] == "TAB-BACKEND"
    assert "self-test failed" in first["message"]
    assert "7 of the tolerance" in first["message"]
    assert "cannot be used" in second["message"]


def test_a_fault_of_the_program_comes_with_its_traceback(bridge):
    async def story(tab):
        return await tab.fault("add_corpus", name="no text")

    fault = in_tab(bridge, story)
    assert fault["code"] == "TAB-BUG"
    assert "KeyError" in fault["detail"]
