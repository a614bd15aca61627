"""Plans: every tensor has a place, and no live tensor is overwritten."""

import pytest

from tabgrad.errors import PlanError
from tabgrad.plan import build_plan
from tabgrad.presets import PRESETS, preset

CORPUS_TOKENS = 1_115_394


def plan_of(name, **limits):
    return build_plan(preset(name), CORPUS_TOKENS, **limits)


def span(plan, tensor):
    place = plan.places[tensor]
    return place.storage, place.offset, place.offset + plan.tensors[tensor].n_bytes


def overlap(a, b):
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


@pytest.mark.parametrize("name", ["Nano", "Small", "XL"])
@pytest.mark.parametrize("programs", [["train"], ["eval"], ["logits", "decode"]])
@pytest.mark.parametrize("is_fused", [False, True])
def test_every_read_sees_the_last_write_of_its_tensor(name, programs, is_fused):
    plan = plan_of(name, is_fused=is_fused, has_decode=True)
    owner = {}  # storage -> list of (span, tensor) written last
    for call in [call for program in programs for call in plan.programs[program]]:
        for tensor in call.tensors_read():
            if plan.tensors[tensor].role != "act":
                continue
            here = span(plan, tensor)
            holders = [t for s, t in owner.get(here[0], []) if overlap(s, here)]
            assert holders == [tensor], (call.op.name, tensor, holders)
        for tensor in call.tensors_written():
            here = span(plan, tensor)
            kept = [x for x in owner.get(here[0], []) if not overlap(x[0], here)]
            owner[here[0]] = [*kept, (here, tensor)]


@pytest.mark.parametrize("name", ["Nano", "Small", "XL"])
@pytest.mark.parametrize("is_fused", [False, True])
def test_caches_are_kept_from_logits_to_decode_and_through_it(name, is_fused):
    plan = plan_of(name, is_fused=is_fused, has_decode=True)
    caches = {t for t in plan.tensors if t.endswith(".cache")}
    assert len(caches) == preset(name).model.n_layer
    spans = {t: span(plan, t) for t in caches}
    for program in ("logits", "decode"):
        written = [t for call in plan.programs[program] for t in call.tensors_written()]
        for tensor in written:
            holders = {c for c in caches if overlap(spans[c], span(plan, tensor))}
            assert holders == {tensor} & caches, (program, tensor)
        assert caches <= set(written)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("is_fused", [False, True])
def test_decode_takes_no_memory(name, is_fused):
    with_decode = plan_of(name, is_fused=is_fused, has_decode=True)
    assert with_decode.n_bytes == plan_of(name, is_fused=is_fused).n_bytes


@pytest.mark.parametrize("name", ["Nano", "Small"])
@pytest.mark.parametrize("kind", ["is_grouped", "has_decode"])
def test_a_call_never_binds_overlapping_tensors(name, kind):
    plan = plan_of(name, **{kind: True})
    for calls in plan.programs.values():
        for call in calls:
            spans = [span(plan, t) for t in call.args.values()]
            for i, a in enumerate(spans):
                assert not any(overlap(a, b) for b in spans[:i]), call


@pytest.mark.parametrize("name", ["Small", "Mega"])
@pytest.mark.parametrize("kind", ["plain", "fused", "grouped"])
def test_a_read_never_shares_a_storage_with_what_is_written(name, kind):
    """WebGPU refuses read and read_write of one buffer in a dispatch."""
    how = {"is_fused": kind != "plain", "is_grouped": kind == "grouped"}
    plan = plan_of(name, max_storage_bytes=128 << 20, **how)
    for calls in plan.programs.values():
        for call in calls:
            by_access = {"read": set(), "write": set()}
            for arg in call.op.args:
                kind = "read" if arg.access == "read" else "write"
                by_access[kind].add(plan.places[call.args[arg.name]].storage)
            assert by_access["read"].isdisjoint(by_access["write"]), call


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_a_plan(name):
    plan = plan_of(name)
    assert plan.n_params == preset(name).model.n_params
    # weights, gradients and two moments, 4 bytes each, are the least of it
    assert plan.n_bytes >= 16 * plan.n_params
    assert plan.flops("train") > 6 * (plan.n_params - 1) * 0.9


def test_small_flops_are_those_of_the_arithmetic():
    config = preset("Small")
    model, rows = config.model, config.tokens_per_step
    weights = model.n_layer * 12 * model.n_embd**2 + model.vocab_size * model.n_embd
    matmuls = 6 * rows * weights
    assert matmuls < plan_of("Small").flops("train") < 1.2 * matmuls


def test_pages_stay_below_the_limit_and_decay_comes_first():
    limit = 8 << 20
    plan = plan_of("Large", max_storage_bytes=limit)
    assert max(plan.storages.values()) <= limit
    updates = [c for c in plan.programs["train"] if c.op.name == "adamw_update"]
    assert len(updates) > 1
    decayed = sum(c.consts["N_DECAY"] for c in updates)
    wanted = sum(p.tensor.size for p in plan.params if p.decays)
    assert decayed >= wanted
    for param in plan.params:
        place = plan.places[param.name]
        page = next(c for c in updates if c.args["w"] == place.storage)
        is_decayed = place.offset // 4 < page.consts["N_DECAY"]
        assert is_decayed == param.decays, param.name


def test_weights_gradients_and_moments_share_one_layout():
    plan = plan_of("Small")
    for param in plan.params:
        offsets = {plan.places[p + param.name].offset for p in ("", "d.", "m.", "v.")}
        assert len(offsets) == 1


def test_a_tensor_that_does_not_fit_is_named():
    wanted = r"tensor h\.0\.attn\.c_attn\.weight .*choose a smaller"
    with pytest.raises(PlanError, match=wanted):
        plan_of("Small", max_storage_bytes=64 << 10)


def test_activations_are_reused():
    plan = plan_of("XL")
    total = sum(t.n_bytes for t in plan.tensors.values() if t.role == "act")
    slots = sum(b for s, b in plan.storages.items() if s.startswith("act."))
    assert slots < 0.6 * total
