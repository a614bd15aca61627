"""WasmBackend over an engine that keeps bytes and computes nothing."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.base import Draw
from tabgrad.backends.wasm import WasmBackend
from tabgrad.config import ModelConfig, RunConfig, TrainConfig
from tabgrad.errors import BackendError
from tabgrad.plan import build_plan

VOCAB, TOKENS = 7, 100


class BytesEngine:
    adapter = "WASM of bytes"
    threads = 2
    tile = 1
    tile_gflops = (40.0, 50.0, 30.0)

    def __init__(self, arena_bytes):
        self.memory = bytearray(arena_bytes)
        self.ran, self.plans, self.drawn, self.freed = [], [], [], 0

    def load(self, plan):
        self.plans.append(plan)

    def run(self, program, n_steps):
        self.ran.append((program, n_steps))

    def peak_gflops(self):
        return 60.0

    def use_tile(self, tile):
        self.tile = tile

    def fill_normals(self, offset, count, draw):
        self.drawn.append((offset, count, draw))

    def write(self, offset, values):
        assert values.flags["C_CONTIGUOUS"]
        self.memory[offset : offset + values.nbytes] = values.tobytes()

    def read(self, offset, into):
        piece = self.memory[offset : offset + into.nbytes]
        into[...] = np.frombuffer(bytes(piece), into.dtype)

    def free(self):
        self.freed += 1


class BytesHost:
    def __init__(self):
        self.engines = []

    async def open(self, arena_bytes, thread_bytes):
        assert thread_bytes > 0
        self.engines.append(BytesEngine(arena_bytes))
        return self.engines[-1]


def plan_of(n_embd):
    model = ModelConfig(
        n_layer=1, n_head=1, n_embd=n_embd, block_size=4, vocab_size=VOCAB
    )
    train = TrainConfig(batch_size=2)
    return build_plan(RunConfig(model=model, train=train), TOKENS)


@pytest.fixture
def opened():
    host = BytesHost()
    backend = WasmBackend(host)
    asyncio.run(backend.prepare(plan_of(8)))
    return backend, host


def test_what_is_written_is_read_and_nothing_else_changes(opened):
    backend, host = opened
    values = np.arange(6, dtype=np.float32)
    asyncio.run(backend.write("wte.weight", values, 3))
    assert np.array_equal(asyncio.run(backend.read("wte.weight", 3, 6)), values)
    assert sum(host.engines[0].memory) == sum(values.tobytes())


def test_a_run_writes_runs_once_and_reads_whole_tensors(opened):
    backend, host = opened
    scalars = np.ones((64, 4), np.float32)
    got = asyncio.run(
        backend.run("eval", 5, {"io.scalars": scalars}, ["io.scalars", "io.loss"])
    )
    assert host.engines[0].ran == [(1, 5)]
    assert np.array_equal(got["io.scalars"], scalars)
    assert got["io.loss"].shape == (64,)


def test_a_weight_is_drawn_whole_and_where_it_lies(opened):
    backend, host = opened
    draw = Draw(1 << 40, 1, 2, 0.5)
    asyncio.run(backend.fill_normals("wpe.weight", draw))
    [(offset, count, got)] = host.engines[-1].drawn
    asyncio.run(backend.write("wpe.weight", np.full(32, 3, np.float32)))
    found = np.frombuffer(bytes(host.engines[-1].memory[offset:]), np.float32)
    assert (count, got) == (32, draw)
    assert found[:32].tolist() == [3] * 32
    assert draw.words == (0, 256, 2, 1)


def test_a_transposed_array_arrives_in_order(opened):
    backend, _ = opened
    values = np.arange(8 * VOCAB, dtype=np.float32).reshape(8, VOCAB).T
    asyncio.run(backend.write("wte.weight", values))
    assert np.array_equal(asyncio.run(backend.read("wte.weight")), values.ravel())


@pytest.mark.parametrize(
    ("tensor", "values", "start"),
    [
        ("io.index", np.zeros(1, np.float32), 0),
        ("io.index", np.zeros(2, np.uint32), 0),
        ("io.index", np.zeros(1, np.uint32), 1),
    ],
)
def test_a_write_of_another_type_or_past_the_end_is_refused(
    opened, tensor, values, start
):
    with pytest.raises(BackendError, match=r"write to io\.index: got .* wanted"):
        asyncio.run(opened[0].write(tensor, values, start))


def test_a_read_past_the_end_is_refused(opened):
    with pytest.raises(BackendError, match=r"read of io\.index: got elements 0 to 2"):
        asyncio.run(opened[0].read("io.index", 0, 2))


def test_a_token_that_the_vocabulary_lacks_is_refused(opened):
    backend, _ = opened
    tokens = np.full(TOKENS, VOCAB - 1, np.uint32)
    asyncio.run(backend.write("io.corpus", tokens))
    tokens[50] = VOCAB
    with pytest.raises(BackendError, match=r"io\.corpus: got the index 7"):
        asyncio.run(backend.write("io.corpus", tokens))


def test_an_engine_serves_every_plan_that_fits_it(opened):
    backend, host = opened
    asyncio.run(backend.prepare(plan_of(16)))
    assert len(host.engines) == 1
    assert len(host.engines[0].plans) == 2


def test_a_larger_plan_gets_a_new_engine_after_the_old_one_is_free(opened):
    backend, host = opened
    asyncio.run(backend.prepare(plan_of(1024)))
    assert [engine.freed for engine in host.engines] == [1, 0]


def test_free_may_be_called_twice_and_ends_all_use(opened):
    backend, host = opened
    backend.free()
    backend.free()
    assert host.engines[0].freed == 1
    with pytest.raises(BackendError, match="before prepare, or after free"):
        asyncio.run(backend.read("io.index"))


def test_the_adapter_is_the_engine_and_its_tile(opened):
    assert opened[0].adapter == "WASM of bytes, 6x8 tiles"


def test_the_facts_tell_the_tile_and_what_each_was_timed_at(opened):
    backend, host = opened
    assert backend.facts() == {
        "adapter": "WASM of bytes, 6x8 tiles",
        "threads": 2,
        "peak_gflops": 60.0,
        "tile": "6x8",
        "tile_gflops": {"4x8": 40.0, "6x8": 50.0, "4x16": 30.0},
    }
    host.engines[0].tile_gflops = (0.0, 0.0, 0.0)
    assert backend.facts()["tile_gflops"] == {}


def test_a_tile_can_be_changed_by_its_name(opened):
    backend, host = opened
    backend.use_tile("4x16")
    assert host.engines[0].tile == 2
    assert backend.facts()["tile"] == "4x16"
