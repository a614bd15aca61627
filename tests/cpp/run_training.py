"""Trains for a few steps on the native engine and prints the bits, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_training build/native/libengine.so PRESET STEPS THREADS...
        [--tile NUMBER]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from pathlib import Path

import numpy as np

from tabgrad.backends.base import Backend
from tabgrad.backends.numpy import NumpyBackend
from tabgrad.backends.wasm import WasmBackend
from tabgrad.presets import preset
from tabgrad.text.split import SplitText, split_text
from tabgrad.train.trainer import Event, StepsDone, Trainer
from tests.cpp.native import NativeHost, load_library


def text_for(block_size: int) -> SplitText:
    """Return tokens in which there is something to learn: half of them are 0."""
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, 64, 5000, np.uint32) * rng.integers(0, 2, 5000, np.uint32)
    return split_text(tokens, block_size)


async def train(name: str, steps: int, backend: Backend) -> dict[str, object]:
    """Return losses, gradient norms, and a hash of all weights and moments."""
    config = preset(name)
    trainer = Trainer(config, text_for(config.model.block_size), backend)
    losses: list[float] = []
    norms: list[float] = []

    def keep(event: Event) -> None:
        if isinstance(event, StepsDone):
            losses.extend(event.losses)
            norms.extend(event.grad_norms)

    await trainer.start()
    await trainer.train(steps, keep)
    assert trainer.plan is not None
    state = hashlib.sha256()
    for storage in trainer.plan.storages:
        if storage.startswith("page."):
            state.update((await backend.read(storage)).tobytes())
    backend.free()
    return {"losses": losses, "norms": norms, "state": state.hexdigest()}


async def main(
    library: Path, name: str, steps: int, threads: list[int], tile: int
) -> None:
    """Print the run of numpy, and one for each number of threads."""
    loaded = load_library(library)
    runs = [
        await train(name, steps, WasmBackend(NativeHost(loaded, n, tile)))
        for n in threads
    ]
    numpy_run = await train(name, steps, NumpyBackend())
    print(json.dumps({"engine": runs, "numpy": numpy_run}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("preset")
    parser.add_argument("steps", type=int)
    parser.add_argument("threads", type=int, nargs="+")
    parser.add_argument("--tile", type=int, default=-1)
    given = parser.parse_args()
    words = (given.library, given.preset, given.steps, given.threads, given.tile)
    asyncio.run(main(*words))
