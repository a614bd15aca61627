"""Decodes every prefix of a window on the native engine and prints the bits, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_decode build/native/libengine.so PRESET THREADS...
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.backends.wasm import WasmBackend
from tabgrad.presets import preset
from tabgrad.train.trainer import Trainer
from tests.cpp.native import NativeHost, load_library
from tests.cpp.run_training import text_for

STEPS = 5


async def decode(name: str, backend: WasmBackend) -> dict[str, object]:
    """Return a hash of the logits after each prefix, and how far numpy's window is.

    `error` is the largest difference over the largest logit.
    """
    config = preset(name).replace(eval_every=0, lr=1e-2)
    text = text_for(config.model.block_size)
    trainer = Trainer(config, text, backend)
    await trainer.start()
    await trainer.train(STEPS, lambda _: None)
    ids = text.tokens[: config.model.block_size]
    rows = [await trainer.logits(ids[: n + 1]) for n in range(len(ids))]
    judge = Trainer(config, text, NumpyBackend())
    await judge.start()
    await judge.copy_weights(trainer)
    window = {"io.prompt": ids}
    wanted = (await judge.backend.run("logits", 1, window, ["io.logits"]))["io.logits"]
    backend.free()
    got = np.array(rows)
    error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    return {"bits": hashlib.sha256(got.tobytes()).hexdigest(), "error": error}


async def main(library: Path, name: str, threads: list[int]) -> None:
    """Print the result for each number of threads."""
    loaded = load_library(library)
    hosts = [NativeHost(loaded, n) for n in threads]
    print(json.dumps([await decode(name, WasmBackend(host)) for host in hosts]))


if __name__ == "__main__":
    path, preset_name, *n_threads = sys.argv[1:]
    asyncio.run(main(Path(path), preset_name, [int(n) for n in n_threads]))
