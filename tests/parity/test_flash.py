"""The tiled attention in numpy against PyTorch's autograd in float64."""

import numpy as np
import pytest
import torch

from tests.parity import flash

BAR = 1e-12


def of_torch(q, k, v, dy):
    leaves = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    s = leaves[0] @ leaves[1].T / np.sqrt(q.shape[1])
    future = torch.ones(s.shape).triu(1).bool()
    s = s.masked_fill(future, -torch.inf)
    y = torch.softmax(s, 1) @ leaves[2]
    y.backward(torch.tensor(dy))
    return [a.detach().numpy() for a in (y, s.logsumexp(1))], [
        leaf.grad.numpy() for leaf in leaves
    ]


@pytest.mark.parametrize("size", [(16, 16), (32, 8), (8, 32), (200, 200)])
@pytest.mark.parametrize(("time", "depth"), [(1, 16), (65, 25), (97, 64), (160, 128)])
def test_tiles_give_what_autograd_gives(size, time, depth):
    rng = np.random.default_rng(time)
    # scores far apart: an online softmax that does not rescale would show
    q, k, v, dy = (rng.normal(0, 3, (time, depth)) for _ in range(4))
    (y, lse), grads = of_torch(q, k, v, dy)
    outputs = flash.forward(q, k, v, size)
    got = flash.backward((q, k, v), outputs, dy, size)
    for mine, wanted in zip((*outputs, *got), (y, lse, *grads), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=BAR, atol=BAR * 1e3)
