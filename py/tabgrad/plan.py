"""The plan of a run: every tensor, where it lies, and the calls of each program.

Pure: it knows no backend. Programs share weights and reuse the same activation
memory, since no two run at once.

    train   one optimiser step: batch, forward, backward, clip, AdamW
    eval    one batch: forward and mean loss
    logits  one window of `io.prompt`: forward, logits to `io.logits`
    decode  row `io.index` of such a window: logits to `io.next`, `io.index` + 1

`logits` fills caches of keys and values and `decode` goes on from them, a row a step.
They lie where other programs have activations, which overwrite them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tabgrad.autodiff import append_backward, grad_name
from tabgrad.config import CHUNK_STEPS, CLIP_EPS, RunConfig
from tabgrad.errors import PlanError
from tabgrad.fuse import fuse
from tabgrad.graph import Graph
from tabgrad.group import Space, group
from tabgrad.model import Param, cache_name, decode_row, forward, parameters
from tabgrad.ops import Call
from tabgrad.ops.optim import N_PARTIALS
from tabgrad.tensors import ITEM_BYTES, Dtype, Role, Tensor

ALIGN_BYTES = 256  # WebGPU's minStorageBufferOffsetAlignment
NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: byte `offset` of `storage`."""

    storage: str
    offset: int = 0


@dataclass(frozen=True)
class Plan:
    """Tensors, places and programs; `storages` gives bytes by name."""

    tensors: Mapping[str, Tensor]
    storages: Mapping[str, int]
    places: Mapping[str, Place]
    programs: Mapping[str, tuple[Call, ...]]
    params: tuple[Param, ...] = ()

    @property
    def n_bytes(self) -> int:
        """All memory that a backend allocates for this plan."""
        return sum(self.storages.values())

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return sum(p.tensor.size for p in self.params)

    def flops(self, program: str) -> float:
        """Floating-point operations of one step of a program."""
        return sum(call.flops for call in self.programs[program])


class _Layout:
    """Places tensors in storages, each at most `limit` bytes."""

    def __init__(self, tensors: Mapping[str, Tensor], limit: int) -> None:
        self.tensors = tensors
        self.limit = limit
        self.storages: dict[str, int] = {}
        self.places: dict[str, Place] = {}

    def size_of(self, name: str) -> int:
        """Return the aligned bytes of a tensor, or raise PlanError: it is too large."""
        size = self.tensors[name].n_bytes
        if size > self.limit:
            shape = " x ".join(map(str, self.tensors[name].shape))
            raise PlanError(
                f"tensor {name} ({shape}) needs {size:,} bytes, but this device binds "
                f"at most {self.limit:,}; choose a smaller preset or batch_size"
            )
        return _aligned(size)

    def alone(self, names: Iterable[str]) -> None:
        """Give each tensor a storage of its own."""
        for name in names:
            self.storages[name] = self.size_of(name)
            self.places[name] = Place(name)

    def stack(self, name: str, members: Iterable[str]) -> None:
        """Give tensors that lie one after the other, and their stack, a storage."""
        place = Place(self._new_slot())
        self.storages[place.storage] = self.size_of(name)
        self.places[name] = place
        for member in members:
            if member in self.places:
                raise PlanError(f"{member} is in two stacks")
            self.places[member] = place
            place = Place(place.storage, place.offset + self.size_of(member))

    def keep(self, names: Iterable[str]) -> None:
        """Give each tensor a slot that programs which use it may not reuse."""
        free = {name for name in self.storages if name.startswith("act.")}
        for name in names:
            self.places[name] = Place(self._take(free, self.size_of(name)))

    def reuse(self, calls: tuple[Call, ...]) -> None:
        """Place a program's activations in slots, freed after their last use."""
        last = {
            name: at
            for at, call in enumerate(calls)
            for name in call.args.values()
            if self.tensors[name].role == "act" and name not in self.places
        }
        used = {self.places[t].storage for t in _tensors(calls) if t in self.places}
        free = {name for name in self.storages if name.startswith("act.")} - used
        for at, call in enumerate(calls):
            for name in dict.fromkeys(call.args.values()):
                if name in last and name not in self.places:
                    self.places[name] = Place(self._take(free, self.size_of(name)))
            for name in dict.fromkeys(call.args.values()):
                if last.get(name) == at:
                    free.add(self.places[name].storage)

    def _take(self, free: set[str], size: int) -> str:
        """Take the smallest free slot that fits, else grow the largest, else add."""
        ordered = sorted(free, key=lambda s: (self.storages[s], s))
        fitting = [s for s in ordered if self.storages[s] >= size]
        slot = fitting[0] if fitting else ordered[-1] if ordered else self._new_slot()
        free.discard(slot)
        self.storages[slot] = max(size, self.storages[slot])
        return slot

    def _new_slot(self) -> str:
        slot = f"act.{sum(name.startswith('act.') for name in self.storages)}"
        self.storages[slot] = 0
        return slot


def _tensors(calls: Iterable[Call]) -> set[str]:
    return {name for call in calls for name in call.args.values()}


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGN_BYTES) * ALIGN_BYTES


@dataclass(frozen=True)
class _Page:
    """A run of weights that one buffer holds.

    Decayed weights come first, and those of one kind lie together, layer by layer.
    """

    number: int
    offsets: Mapping[str, int]
    n_bytes: int
    n_decay: int


def _pages(params: tuple[Param, ...], limit: int) -> list[_Page]:
    ordered = sorted(params, key=lambda param: (not param.decays, param.kind))
    pages: list[_Page] = []
    offsets: dict[str, int] = {}
    used = decayed = 0
    for param in ordered:
        size = _aligned(param.tensor.n_bytes)
        if offsets and used + size > limit:
            pages.append(_Page(len(pages), offsets, used, decayed))
            offsets, used, decayed = {}, 0, 0
        offsets[param.name] = used
        used += size
        decayed = used // ITEM_BYTES if param.decays else decayed
    return [*pages, _Page(len(pages), offsets, used, decayed)]


def build_plan(
    config: RunConfig,
    corpus_tokens: int,
    max_storage_bytes: int = NO_LIMIT,
    *,
    is_fused: bool = True,
    is_grouped: bool = False,
    has_decode: bool = False,
) -> Plan:
    """Return the plan of a run.

    Args:
        config: the hyperparameters.
        corpus_tokens: length of the token array, train and held-out parts together.
        max_storage_bytes: the largest buffer that the device can bind.
        is_fused: put fused ops in place of plain ones. The plain plan is the
            definition; the numbers are the same.
        is_grouped: do the gradients of all layers' weights together, at the end of a
            fused step: fewer and larger calls, for more memory.
        has_decode: add the program `decode`, which takes no memory of its own.

    Raises:
        PlanError: a tensor is larger than that; the message names it.
    """
    params = parameters(config.model)
    tensors: dict[str, Tensor] = {p.name: p.tensor for p in params}
    io = _io_tensors(config, corpus_tokens)
    tensors |= {t.name: t for t in io}
    layout = _Layout(tensors, max_storage_bytes)
    pages = _pages(params, max_storage_bytes)
    programs = {
        "train": _train(config, tensors, pages),
        "eval": _eval(config, tensors),
        "logits": _logits(config, tensors, fills_caches=has_decode),
    }
    if has_decode:
        programs["decode"] = _decode(config, tensors)
    if is_fused:
        programs = {name: fuse(calls, tensors) for name, calls in programs.items()}
    stacks: Mapping[str, tuple[str, ...]] = {}
    if is_fused and is_grouped:
        space = Space(_grad_starts(pages), ALIGN_BYTES, max_storage_bytes)
        programs["train"], stacks = group(programs["train"], tensors, space)
    _drop_unused(tensors, programs)
    for kind, prefix in (("w", ""), ("g", "d."), ("m", "m."), ("v", "v.")):
        _place_pages(layout, pages, kind, prefix)
    for name, members in stacks.items():
        if tensors[name].role == "grad":
            layout.places[name] = layout.places[members[0]]
        else:
            layout.stack(name, members)
    layout.alone(t.name for t in io)
    layout.alone(["norm.partials", "norm.scale"])
    for page in pages:
        start = page.number * N_PARTIALS * ITEM_BYTES
        layout.places[f"norm.partials.{page.number}"] = Place("norm.partials", start)
    layout.reuse(programs["train"])
    layout.reuse(programs["eval"])
    if has_decode:
        layout.places["io.next"] = Place("io.logits")
        layout.keep(map(cache_name, range(config.model.n_layer)))
        layout.reuse(programs["decode"])
    layout.reuse(programs["logits"])
    _assert_whole(layout)
    return Plan(tensors, layout.storages, layout.places, programs, params)


def _grad_starts(pages: Iterable[_Page]) -> dict[str, tuple[int, int]]:
    """Return gradient of a weight -> number of its page, and byte offset there."""
    return {
        grad_name(name): (page.number, offset)
        for page in pages
        for name, offset in page.offsets.items()
    }


def _drop_unused(
    tensors: dict[str, Tensor], programs: Mapping[str, tuple[Call, ...]]
) -> None:
    """Remove the activations that no call mentions any more."""
    used = _tensors(call for calls in programs.values() for call in calls)
    for name in [n for n, t in tensors.items() if t.role == "act" and n not in used]:
        del tensors[name]


def _io_tensors(config: RunConfig, corpus_tokens: int) -> list[Tensor]:
    model, batch = config.model, config.train.batch_size
    rows: list[tuple[str, tuple[int, ...], Dtype]] = [
        ("io.corpus", (corpus_tokens,), "u32"),
        ("io.index", (1,), "u32"),
        ("io.scalars", (CHUNK_STEPS, 4), "f32"),
        ("io.offsets", (CHUNK_STEPS, batch), "u32"),
        ("io.loss", (CHUNK_STEPS,), "f32"),
        ("io.grad_norm", (CHUNK_STEPS,), "f32"),
        ("io.prompt", (model.block_size,), "u32"),
        ("io.logits", (model.block_size, model.vocab_size), "f32"),
    ]
    return [Tensor(name, shape, dtype, "io") for name, shape, dtype in rows]


def _place_pages(layout: _Layout, pages: list[_Page], kind: str, prefix: str) -> None:
    for page in pages:
        storage = f"page.{page.number}.{kind}"
        layout.storages[storage] = page.n_bytes
        layout.places[storage] = Place(storage)
        for name, offset in page.offsets.items():
            layout.size_of(prefix + name)
            layout.places[prefix + name] = Place(storage, offset)


def _batch_loss(graph: Graph, config: RunConfig) -> str:
    """Append batch, forward and mean loss of one step; return the loss tensor."""
    at = graph.prefix
    rows = config.tokens_per_step
    args = {"corpus": "io.corpus", "offsets": "io.offsets", "index": "io.index"}
    args |= {"ids": f"{at}ids", "targets": f"{at}targets"}
    graph.call("batch_fwd", args, {"R": rows})
    forward(graph, config.model, f"{at}ids", f"{at}logits")
    xent = {"logits": f"{at}logits", "targets": f"{at}targets"}
    xent |= {"loss": f"{at}loss", "lse": f"{at}lse"}
    graph.call("xent_fwd", xent)
    ring = {"loss": f"{at}loss", "index": "io.index", "ring": "io.loss"}
    graph.call("loss_mean", ring)
    return f"{at}loss"


def _train(
    config: RunConfig, tensors: dict[str, Tensor], pages: list[_Page]
) -> tuple[Call, ...]:
    graph = Graph(tensors)
    loss = _batch_loss(graph, config)
    append_backward(graph, loss)
    for name in [n for p in pages for n in p.offsets]:
        shape = tensors[name].shape
        graph.add(Tensor(f"m.{name}", shape, "f32", "state"))
        graph.add(Tensor(f"v.{name}", shape, "f32", "state"))
    _clip(graph, config, pages)
    for page in pages:
        _adamw(graph, config, page)
    graph.call("step_advance", {"index": "io.index"})
    return tuple(graph.calls)


def _clip(graph: Graph, config: RunConfig, pages: list[_Page]) -> None:
    graph.add(Tensor("norm.partials", (len(pages) * N_PARTIALS,), "f32", "state"))
    graph.add(Tensor("norm.scale", (1,), "f32", "state"))
    roles: dict[str, Role] = {"w": "param", "g": "grad", "m": "state", "v": "state"}
    for page in pages:
        for kind, role in roles.items():
            name, size = f"page.{page.number}.{kind}", page.n_bytes // ITEM_BYTES
            graph.add(Tensor(name, (size,), "f32", role))
        partial = f"norm.partials.{page.number}"
        graph.add(Tensor(partial, (N_PARTIALS,), "f32", "state"))
        graph.call("sqnorm_fwd", {"g": f"page.{page.number}.g", "partial": partial})
    args = {"partial": "norm.partials", "index": "io.index"}
    args |= {"loss": "io.loss", "ring": "io.grad_norm", "scale": "norm.scale"}
    attrs = {"GRAD_CLIP": config.train.grad_clip, "CLIP_EPS": CLIP_EPS}
    graph.call("clip_scale", args, attrs)


def _adamw(graph: Graph, config: RunConfig, page: _Page) -> None:
    args = {kind: f"page.{page.number}.{kind}" for kind in "gwmv"}
    args |= {"scalars": "io.scalars", "index": "io.index", "scale": "norm.scale"}
    attrs = {
        "N_DECAY": page.n_decay,
        "BETA1": config.train.beta1,
        "BETA2": config.train.beta2,
        "ADAM_EPS": config.train.eps,
        "WEIGHT_DECAY": config.train.weight_decay,
    }
    graph.call("adamw_update", args, attrs)


def _eval(config: RunConfig, tensors: dict[str, Tensor]) -> tuple[Call, ...]:
    graph = Graph(tensors, prefix="eval.")
    _batch_loss(graph, config)
    graph.call("step_advance", {"index": "io.index"})
    return tuple(graph.calls)


def _logits(
    config: RunConfig, tensors: dict[str, Tensor], *, fills_caches: bool
) -> tuple[Call, ...]:
    graph = Graph(tensors, prefix="logits.")
    names = ("io.prompt", "io.logits")
    forward(graph, config.model, *names, fills_caches=fills_caches)
    return tuple(graph.calls)


def _decode(config: RunConfig, tensors: dict[str, Tensor]) -> tuple[Call, ...]:
    graph = Graph(tensors, prefix="decode.")
    graph.add(Tensor("io.next", (1, config.model.vocab_size), "f32", "io"))
    decode_row(graph, config.model, "io.prompt", "io.index", "io.next")
    graph.call("step_advance", {"index": "io.index"})
    return tuple(graph.calls)


def _assert_whole(layout: _Layout) -> None:
    """Raise PlanError for a tensor without a place, or one that leaves its storage."""
    missing = sorted(set(layout.tensors) - set(layout.places))
    if missing:
        raise PlanError(f"no place for {', '.join(missing)}")
    for name, place in layout.places.items():
        end = place.offset + layout.tensors[name].n_bytes
        if end > layout.storages[place.storage] or place.offset % ALIGN_BYTES:
            raise PlanError(f"{name} does not lie well in {place.storage}")


def single_call_plan(call: Call, tensors: Mapping[str, Tensor]) -> Plan:
    """Return a plan with one program `op` of one call, each tensor on its own."""
    layout = _Layout(tensors, NO_LIMIT)
    layout.alone(tensors)
    return Plan(tensors, layout.storages, layout.places, {"op": (call,)})


def grad_tensor(param: Param) -> str:
    """Return the name of the tensor that holds a weight's gradient."""
    return grad_name(param.name)
