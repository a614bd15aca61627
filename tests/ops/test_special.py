"""The fits of cpp/special.h and wgsl/lib/gelu.wgsl are as good as they say."""

import math
import re

import numpy as np
import pytest

from tabgrad.ops.gelu import normal_cdf
from tools.paths import ROOT

HEADER = (ROOT / "cpp" / "special.h").read_text()
SHADER = (ROOT / "wgsl" / "lib" / "gelu.wgsl").read_text()


def coefficients(struct: str) -> list[float]:
    """Return the numbers of the polynomial `p` of a struct, highest power first."""
    body = HEADER[HEADER.index(f"struct {struct} {{") :]
    p = re.search(r"F4 p\[\d\] = \{(.*?)\};", body, re.DOTALL)
    assert p is not None
    numbers = re.findall(r"splat\((\S+)f\)", p[1])
    return [float(np.float32(number)) for number in reversed(numbers)]


def test_exp_is_a_fit_of_degree_six():
    r = np.linspace(-0.395, 0.395, 20_001)
    p = coefficients("ExpNumbers")
    assert len(p) == 5
    fit = 1 + r + r * r * np.polyval(p, r)
    assert np.abs(fit / np.exp(r) - 1).max() < 1e-8


def test_the_tail_of_the_normal_distribution_is_a_fit_of_degree_eight():
    u = np.linspace(0, 14.5, 20_001)
    p = coefficients("NormalNumbers")
    assert len(p) == 9
    t = 1 / (1 + 0.35 * u)
    fit = np.exp(-u * u / 2) * t * np.polyval(p, t)
    assert np.abs(fit / -normal_cdf(-u) - 1).max() < 5.3e-8


def test_the_shader_has_the_same_fit_of_the_tail():
    body = SHADER[SHADER.index("var p = ") : SHADER.index("let decay")]
    numbers = re.findall(r"Elem\(([^)]+)\)", body)
    p = [-float(np.float32(number)) for number in numbers]
    assert p == coefficients("NormalNumbers")
    assert "fma(Elem(0.35), u, Elem(1.0))" in SHADER


def test_ln_2_is_split_so_that_the_first_part_is_exact():
    low = 2.12194440e-4
    high = 0.693359375
    assert f"splat(-{high}f)" in HEADER
    assert "splat(2.12194440e-4f)" in HEADER
    assert high - low == pytest.approx(math.log(2), abs=1e-11)
    mantissa = high * 2**12
    assert mantissa == int(mantissa), "times n up to 2^11 it fits 24 bits"
