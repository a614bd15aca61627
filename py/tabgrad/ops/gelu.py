"""GELU in its exact form, x Phi(x) with the normal distribution function Phi.

erf after Cody 1969, "Rational Chebyshev approximations for the error function":
near 1e-16 in float64, so that finite differences judge the gradient.
"""

from __future__ import annotations

import numpy as np

from tabgrad.ops.contract import Op, Vjp
from tabgrad.tensors import Array

_SQRT_HALF = 0.7071067811865476
_INV_SQRT_2PI = 0.3989422804014327
_INV_SQRT_PI = 0.5641895835477563

_MIDDLE_FROM, _LARGE_FROM = 0.46875, 4.0
# |x| <= 0.46875: erf(x) = x P(x^2) / Q(x^2), highest power first
_P_SMALL = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_Q_SMALL = (
    1.0,
    2.36012909523441209e1,
    2.44024637934444173e2,
    1.28261652607737228e3,
    2.84423683343917062e3,
)
# 0.46875 <= x <= 4: erfc(x) = exp(-x^2) P(x) / Q(x)
_P_MIDDLE = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_Q_MIDDLE = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
# x >= 4: erfc(x) = exp(-x^2) / x (1 / sqrt(pi) - z P(z) / Q(z)), z = 1 / x^2
_P_LARGE = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_Q_LARGE = (
    1.0,
    2.56852019228982242e0,
    1.87295284992346047e0,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + x.dtype.type(c)
    return total


def erfc_positive(x: Array) -> Array:
    """Return the complementary error function of x >= 0."""
    one = x.dtype.type(1)
    square = x * x
    small = one - x * _horner(_P_SMALL, square) / _horner(_Q_SMALL, square)
    decay = np.exp(-square)
    mid = np.minimum(x, x.dtype.type(_LARGE_FROM))
    middle = decay * _horner(_P_MIDDLE, mid) / _horner(_Q_MIDDLE, mid)
    far = np.maximum(x, x.dtype.type(_LARGE_FROM))
    z = one / (far * far)
    tail = x.dtype.type(_INV_SQRT_PI) - z * _horner(_P_LARGE, z) / _horner(_Q_LARGE, z)
    large = decay / far * tail
    upper: Array = np.where(x <= _LARGE_FROM, middle, large)
    return np.where(x <= _MIDDLE_FROM, small, upper)


def normal_cdf(x: Array) -> Array:
    """Return Phi(x), without cancellation for negative x."""
    half = x.dtype.type(0.5)
    # beyond 12 the tail is below the least float32; the bound keeps x^2 finite
    scaled = np.minimum(np.abs(x), x.dtype.type(40)) * x.dtype.type(_SQRT_HALF)
    tail = half * erfc_positive(scaled)
    cdf: Array = np.where(x < 0, tail, x.dtype.type(1) - tail)
    return cdf


def gelu_fwd(x: Array) -> Array:
    """Return y = x Phi(x)."""
    return x * normal_cdf(x)


GELU_FWD = Op(
    "gelu_fwd",
    reads={"x": "R F"},
    writes={"y": "R F"},
    reference=gelu_fwd,
    vjp=(Vjp("gelu_bwd"),),
    flops=lambda d: 20 * d["R"] * d["F"],
)


def gelu_slope(x: Array) -> Array:
    """Return Phi(x) + x phi(x), the derivative of x Phi(x)."""
    density = x.dtype.type(_INV_SQRT_2PI) * np.exp(x.dtype.type(-0.5) * x * x)
    slope: Array = normal_cdf(x) + x * density
    return slope


def gelu_bwd(x: Array, dy: Array) -> Array:
    """Return dx = dy (Phi(x) + x phi(x)). Forward: y = x Phi(x)."""
    return dy * gelu_slope(x)


GELU_BWD = Op(
    "gelu_bwd",
    reads={"x": "R F", "dy": "R F"},
    writes={"dx": "R F"},
    reference=gelu_bwd,
    flops=lambda d: 25 * d["R"] * d["F"],
)

OPS = (GELU_FWD, GELU_BWD)
