"""Every vjp against central differences in float64."""

import math

import numpy as np
import pytest

from tabgrad.ops import OPS
from tabgrad.ops.cases import case_inputs, op_cases
from tabgrad.ops.gelu import erfc_positive

STEP = 1e-6
TOLERANCE = 2e-7  # of the largest gradient; rounding of a loss of order 100
MOST_ELEMENTS = 60  # differences are taken at this many elements of an input
DIFFERENTIABLE = [op for op in OPS.values() if op.vjp]


def small_cases(op):
    cases = op_cases(op.name)
    sizes = [np.prod([float(c[d]) for d in op.dims]) for c in cases]
    return [c for c, size in zip(cases, sizes, strict=True) if size < 3e5][-8:]


def wide(arrays):
    return {
        k: v.astype(np.float64) if v.dtype == np.float32 else v
        for k, v in arrays.items()
    }


def loss_of(op, inputs, consts, cotangents):
    outputs = op.run_reference(inputs, consts)
    if op.name == "xent_fwd":  # seeds itself with the gradient of the mean
        return outputs["loss"].mean()
    return sum((outputs[k] * c).sum() for k, c in cotangents.items())


def backward(op, inputs, consts, cotangents):
    """Run every backward op of `op.vjp`; return gradients by forward argument."""
    known = {**inputs, **op.run_reference(inputs, consts)}
    known |= {f"d{name}": c for name, c in cotangents.items()}
    gradients = {}
    for vjp in op.vjp:
        back = OPS[vjp.op]
        named = {a.name: vjp.bind.get(a.name, a.name) for a in back.args}
        taken = {k: known[n] for k, n in named.items() if n in known}
        sizes = {}
        for arg in back.args:
            if arg.name in taken:
                for (factor, letter), size in zip(
                    arg.axes, taken[arg.name].shape, strict=True
                ):
                    sizes[letter] = size // factor
        for name, value in back.run_reference(taken, {**consts, **sizes}).items():
            gradients[named[name][1:]] = value
    return gradients


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_vjp_is_the_derivative(op):
    rng = np.random.default_rng(0)
    read = {
        vjp.bind.get(a.name, a.name)
        for vjp in op.vjp
        for a in OPS[vjp.op].args
        if a.access == "read"
    }
    for consts in small_cases(op):
        inputs = wide(case_inputs(op, consts))
        inputs = {a.name: inputs[a.name] for a in op.args if a.access == "read"}
        if op.name == "gelu_fwd":  # the extreme points are for the kernels
            inputs["x"] = rng.standard_normal(inputs["x"].shape) * 2
        outputs = op.run_reference(inputs, consts)
        cotangents = {
            k: rng.standard_normal(v.shape)
            for k, v in outputs.items()
            if f"d{k}" in read
        }
        gradients = backward(op, inputs, consts, cotangents)
        floats = [k for k, v in inputs.items() if v.dtype == np.float64]
        assert set(gradients) == set(floats)
        for name in floats:

            def loss(inputs=inputs, consts=consts, cotangents=cotangents):
                return loss_of(op, inputs, consts, cotangents)

            place = f"{op.name} {consts} d{name}"
            check_input(place, inputs[name], gradients[name], loss)


def check_input(place, values, gradient, loss):
    flat = values.reshape(-1)
    chosen = np.random.default_rng(1).permutation(flat.size)[:MOST_ELEMENTS]
    scale = max(1.0, float(np.abs(gradient).max()))
    for i in chosen:
        kept = flat[i]
        flat[i] = kept + STEP
        up = loss()
        flat[i] = kept - STEP
        down = loss()
        flat[i] = kept
        wanted = (up - down) / (2 * STEP)
        got = gradient.reshape(-1)[i]
        assert abs(got - wanted) <= TOLERANCE * scale, (
            f"{place}[{i}]: got {got}, wanted {wanted}"
        )


def test_every_op_has_cases():
    for op in OPS.values():
        assert op_cases(op.name)


def test_every_vjp_names_an_op_and_its_arguments():
    for op in DIFFERENTIABLE:
        names = {a.name for a in op.args}
        for vjp in op.vjp:
            for arg in OPS[vjp.op].args:
                source = vjp.bind.get(arg.name, arg.name)
                assert source in names or source[1:] in names, (op.name, vjp.op, source)


def test_erfc_is_near_exact():
    x = np.concatenate([np.linspace(0, 6, 4001), np.array([0.46875, 4.0, 26.0])])
    wanted = np.array([math.erfc(v) for v in x])
    np.testing.assert_allclose(erfc_positive(x), wanted, rtol=5e-15)


def test_rows_one_by_one_over_the_cache_are_those_of_a_window():
    T, H, C = 13, 3, 12
    rng = np.random.default_rng(3)
    qkv, cache = rng.standard_normal((T, 3 * C)), rng.standard_normal((T, 2 * C))
    wanted, _ = OPS["attention_fwd"].reference(qkv, H, T)
    for t in range(T):
        index = np.array([t + 2 * T], np.uint32)  # counted modulo T
        out = OPS["attention_cached_fwd"].reference(qkv[t : t + 1], index, cache, H)
        cache, y = out
        np.testing.assert_allclose(y[0], wanted[t], rtol=1e-12)
    np.testing.assert_array_equal(cache, OPS["cache_fwd"].reference(qkv))


def test_a_row_is_embedded_as_in_a_window():
    T, C = 5, 4
    rng = np.random.default_rng(4)
    ids = np.array([2, 0, 1, 1, 2], np.uint32)
    wte, wpe = rng.standard_normal((3, C)), rng.standard_normal((T, C))
    wanted = OPS["embed_fwd"].reference(ids, wte, wpe)
    for t in range(T):
        index = np.array([t + T], np.uint32)
        y = OPS["embed_at_fwd"].reference(ids, index, wte, wpe)
        np.testing.assert_array_equal(y, wanted[t : t + 1])


def test_adamw_is_one_step_of_the_paper():
    op = OPS["adamw_update"]
    consts = op_cases("adamw_update")[0]
    consts |= {"N": 2, "N_DECAY": 1, "S": 1}
    inputs = {
        "g": np.array([2.0, -4.0]),
        "scalars": np.array([[0.1, 1 / (1 - 0.9), 1 / (1 - 0.95), 0.0]]),
        "index": np.array([0], np.uint32),
        "scale": np.array([0.5]),
        "w": np.array([1.0, 1.0]),
        "m": np.zeros(2),
        "v": np.zeros(2),
    }
    out = op.run_reference(inputs, consts)
    # at t = 1 the corrected moments are g and g^2, so the step is lr sign(g)
    np.testing.assert_allclose(out["w"], [1 - 0.1 * (0.1 + 1), 1 + 0.1], rtol=1e-7)
    np.testing.assert_allclose(out["m"], [0.1, -0.2])
    np.testing.assert_allclose(out["v"], [0.05, 0.2])
