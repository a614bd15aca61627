"""What is said of plans at the edge of the CPU engine's memory; none is allocated."""

import asyncio

import pytest

from tabgrad.backends.wasm import WasmBackend
from tabgrad.backends.wasm_abi import lay_out, scratch_bytes
from tabgrad.backends.wasm_room import NoRoomError, room_words
from tabgrad.plan import build_plan
from tabgrad.presets import preset

MOST = 16 << 30  # what a browser gives a 64-bit memory
THREADS = 16
THREAD_BYTES = 1 << 20  # its stack, see site/js/players/wasm_memory.js
CORPUS_TOKENS = 1_115_394


def plan_of(**sizes):
    wide = {"n_layer": 24, "n_head": 24, "n_embd": 1824, "block_size": 512}
    config = preset("Behemoth").replace(**{**wide, "batch_size": 1, **sizes})
    return build_plan(config, CORPUS_TOKENS, has_decode=True)


def test_960_million_parameters_fit_a_64_bit_memory_at_batch_1():
    plan = plan_of()
    assert plan.n_params == 960_142_656
    calls = [call for program in plan.programs.values() for call in program]
    per_thread = scratch_bytes(calls) + THREAD_BYTES
    assert lay_out(plan).n_bytes + THREADS * per_thread < MOST - (8 << 20)


def test_a_batch_that_does_not_fit_is_told_with_the_share_that_would():
    assert room_words(plan_of(batch_size=4), MOST) == (
        "Of the plan's 21.20 GB, weights, gradients and two moments of 960,142,656 "
        "parameters take 15.36 GB; the rest is nearly all activations, the largest "
        "h.0.mlp.gelu (2048 x 7296) with 0.06 GB. What fits has batch_size x "
        "block_size at most 29 % of this, or fewer layers, or a smaller n_embd."
    )


def test_the_share_that_is_told_fits():
    sizes = {"batch_size": 4, "block_size": 512 * 29 // 100}
    assert lay_out(plan_of(**sizes)).n_bytes < MOST


def test_a_model_whose_weights_do_not_fit_is_told_so():
    words = room_words(plan_of(n_layer=48), MOST)
    assert "take 30.70 GB" in words
    assert words.endswith(
        "What fits has fewer than 1,069,467,635 parameters: choose fewer layers or a "
        "smaller n_embd."
    )


class FullHost:
    async def open(self, arena_bytes, thread_bytes):
        raise NoRoomError("This page can have 17.18 GB.", MOST)


def test_a_backend_that_gets_no_memory_says_what_the_plan_holds():
    with pytest.raises(NoRoomError) as caught:
        asyncio.run(WasmBackend(FullHost()).prepare(plan_of(batch_size=4)))
    assert str(caught.value).startswith("This page can have 17.18 GB. Of the plan's ")
    assert "at most 29 % of this" in str(caught.value)
