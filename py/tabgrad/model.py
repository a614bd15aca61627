"""The transformer: GPT-2 with pre-LN, biases, learned positions and a tied head.

The only place that knows the architecture. Source: Radford et al. 2019, with the
exact (erf) GELU.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from tabgrad.config import INIT_STD, LAYERNORM_EPS, ModelConfig
from tabgrad.graph import Graph
from tabgrad.tensors import Tensor


@dataclass(frozen=True)
class Param:
    """A weight: GPT-2's checkpoint key, shape (in, out), and how it starts.

    `std` > 0: normal with that deviation; 0: every element is `constant`.
    `decays`: weight decay applies.
    """

    name: str
    shape: tuple[int, ...]
    std: float = 0.0
    constant: float = 0.0
    decays: bool = False

    @property
    def kind(self) -> str:
        """What it is in any layer; the last norm is the first of a layer to come."""
        return re.sub(r"^h\.\d+\.", "", self.name).replace("ln_f", "ln_1")

    @property
    def tensor(self) -> Tensor:
        """The weight as a tensor of a plan."""
        return Tensor(self.name, self.shape, "f32", "param")


def _matrix(name: str, shape: tuple[int, int], std: float = INIT_STD) -> Param:
    return Param(name, shape, std=std, decays=True)


def _norm(name: str, width: int) -> tuple[Param, Param]:
    return (
        Param(f"{name}.weight", (width,), constant=1.0),
        Param(f"{name}.bias", (width,)),
    )


def parameters(config: ModelConfig) -> tuple[Param, ...]:
    """Return every weight; the position in this tuple is its random sub-stream."""
    c = config.n_embd
    out_std = INIT_STD / math.sqrt(2 * config.n_layer)
    params = [
        _matrix("wte.weight", (config.vocab_size, c)),
        _matrix("wpe.weight", (config.block_size, c)),
    ]
    for i in range(config.n_layer):
        h = f"h.{i}"
        params += [
            *_norm(f"{h}.ln_1", c),
            _matrix(f"{h}.attn.c_attn.weight", (c, 3 * c)),
            Param(f"{h}.attn.c_attn.bias", (3 * c,)),
            _matrix(f"{h}.attn.c_proj.weight", (c, c), out_std),
            Param(f"{h}.attn.c_proj.bias", (c,)),
            *_norm(f"{h}.ln_2", c),
            _matrix(f"{h}.mlp.c_fc.weight", (c, 4 * c)),
            Param(f"{h}.mlp.c_fc.bias", (4 * c,)),
            _matrix(f"{h}.mlp.c_proj.weight", (4 * c, c), out_std),
            Param(f"{h}.mlp.c_proj.bias", (c,)),
        ]
    return (*params, *_norm("ln_f", c))


def _layernorm(graph: Graph, x: str, param: str, y: str) -> str:
    y = graph.prefix + y
    args = {"x": x, "w": f"{param}.weight", "b": f"{param}.bias", "y": y}
    args |= {"mean": f"{y}.mean", "rstd": f"{y}.rstd"}
    graph.call("layernorm_fwd", args, {"EPS": LAYERNORM_EPS})
    return y


def _linear(graph: Graph, x: str, param: str, y: str) -> str:
    y = graph.prefix + y
    args = {"x": x, "w": f"{param}.weight", "b": f"{param}.bias", "y": y}
    graph.call("linear_fwd", args)
    return y


def _residual(graph: Graph, a: str, b: str, y: str) -> str:
    y = graph.prefix + y
    graph.call("residual_fwd", {"a": a, "b": b, "y": y})
    return y


Attend = Callable[[int, str, str], None]  # layer, tensors qkv and y


def _attention(graph: Graph, attend: Attend, x: str, layer: int) -> str:
    h = f"h.{layer}"
    qkv = _linear(graph, x, f"{h}.attn.c_attn", f"{h}.attn.qkv")
    y = f"{graph.prefix}{h}.attn.y"
    attend(layer, qkv, y)
    return _linear(graph, y, f"{h}.attn.c_proj", f"{h}.attn.out")


def _mlp(graph: Graph, x: str, h: str) -> str:
    wide = _linear(graph, x, f"{h}.mlp.c_fc", f"{h}.mlp.fc")
    act = f"{graph.prefix}{h}.mlp.gelu"
    graph.call("gelu_fwd", {"x": wide, "y": act})
    return _linear(graph, act, f"{h}.mlp.c_proj", f"{h}.mlp.out")


def cache_name(layer: int) -> str:
    """Return the tensor that keeps the keys and values of a layer, (T, 2C)."""
    return f"h.{layer}.attn.cache"


def _blocks(
    graph: Graph, config: ModelConfig, attend: Attend, x: str, logits: str
) -> None:
    for i in range(config.n_layer):
        h = f"h.{i}"
        normed = _layernorm(graph, x, f"{h}.ln_1", f"{h}.ln_1.y")
        attended = _attention(graph, attend, normed, i)
        x = _residual(graph, x, attended, f"{h}.x_mid")
        normed = _layernorm(graph, x, f"{h}.ln_2", f"{h}.ln_2.y")
        x = _residual(graph, x, _mlp(graph, normed, h), f"{h}.x")
    normed = _layernorm(graph, x, "ln_f", "ln_f.y")
    graph.call("matmul_nt", {"x": normed, "w": "wte.weight", "y": logits})


def forward(
    graph: Graph,
    config: ModelConfig,
    ids: str,
    logits: str,
    *,
    fills_caches: bool = False,
) -> None:
    """Append the calls that turn token ids (R,) into logits (R, V).

    With `fills_caches`, R is T, and `decode_row` can go on from any of the rows.
    """

    def attend(layer: int, qkv: str, y: str) -> None:
        sizes = {"H": config.n_head, "T": config.block_size}
        graph.call("attention_fwd", {"qkv": qkv, "y": y, "lse": f"{y}.lse"}, sizes)
        if fills_caches:
            graph.call("cache_fwd", {"qkv": qkv, "cache": cache_name(layer)})

    x = graph.prefix + "x"
    embed = {"ids": ids, "wte": "wte.weight", "wpe": "wpe.weight", "y": x}
    graph.call("embed_fwd", embed)
    _blocks(graph, config, attend, x, logits)


def decode_row(
    graph: Graph, config: ModelConfig, ids: str, index: str, logits: str
) -> None:
    """Append the calls that give row `index` of what `forward` does, (1, V).

    The caches hold the rows before it, and this one afterwards.
    """

    def attend(layer: int, qkv: str, y: str) -> None:
        args = {"qkv": qkv, "index": index, "cache": cache_name(layer), "y": y}
        sizes = {"H": config.n_head, "T": config.block_size}
        graph.call("attention_cached_fwd", args, sizes)

    x = graph.prefix + "x"
    embed = {"ids": ids, "index": index, "wte": "wte.weight", "wpe": "wpe.weight"}
    graph.call("embed_at_fwd", {**embed, "y": x})
    _blocks(graph, config, attend, x, logits)
