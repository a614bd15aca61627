"""The reference model in PyTorch, written from GPT-2's description, as a judge.

Shares nothing with tabgrad but the names and (in, out) layout of the weights.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def logits(w: dict[str, Tensor], ids: Tensor, n_head: int, eps: float) -> Tensor:
    """Return (B, T, V) logits of token ids (B, T)."""
    n_layer = 1 + max(int(k.split(".")[1]) for k in w if k.startswith("h."))
    time = ids.shape[1]
    x = w["wte.weight"][ids] + w["wpe.weight"][:time]

    def norm(x: Tensor, name: str) -> Tensor:
        weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
        return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    for i in range(n_layer):
        h = f"h.{i}"
        qkv = linear(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn")
        q, k, v = (
            part.unflatten(2, (n_head, -1)).transpose(1, 2)
            for part in qkv.chunk(3, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(y.transpose(1, 2).flatten(2), f"{h}.attn.c_proj")
        wide = functional.gelu(linear(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc"))
        x = x + linear(wide, f"{h}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def loss(
    w: dict[str, Tensor], ids: Tensor, targets: Tensor, n_head: int, eps: float
) -> Tensor:
    """Return the mean cross-entropy over B T."""
    rows = logits(w, ids, n_head, eps).flatten(0, 1)
    return functional.cross_entropy(rows, targets.flatten())


def adamw(w: dict[str, Tensor], lr: float) -> torch.optim.AdamW:
    """Return the reference's optimiser: decay 0.1 on tensors of rank >= 2."""
    matrices = [t for t in w.values() if t.dim() >= 2]
    vectors = [t for t in w.values() if t.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8)
