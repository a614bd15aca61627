"""Losses and gradient norms of presets on numpy, the truth for the other backends.

Usage: python3 -m tests.parity.numpy_losses PRESET... [--steps N]

Prints one JSON object: preset -> {losses, grad_norms}. TinyShakespeare as bytes, the
preset's own seed. What was computed once for the same Python code is kept in build/.
"""

import argparse
import asyncio
import json

import numpy as np

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.presets import PRESETS, preset
from tabgrad.text.split import split_text
from tabgrad.train.trainer import Event, StepsDone, Trainer
from tools.paths import BUILD, DIST, ROOT
from tools.stamps import files_in, hash_of, hash_of_files, sha256_of

CORPUS = DIST / "corpora" / "tinyshakespeare.txt"


def run(name: str, steps: int) -> dict[str, list[float]]:
    """Train a preset and return its losses and gradient norms."""
    config = preset(name).replace(eval_every=0)
    tokens = np.frombuffer(CORPUS.read_bytes(), np.uint8).astype(np.uint32)
    text = split_text(tokens, config.model.block_size)
    trainer = Trainer(config, text, NumpyBackend())
    out: dict[str, list[float]] = {"losses": [], "grad_norms": []}

    def note(event: Event) -> None:
        if isinstance(event, StepsDone):
            out["losses"] += event.losses
            out["grad_norms"] += event.grad_norms

    async def whole() -> None:
        await trainer.start()
        await trainer.train(steps, note)

    asyncio.run(whole())
    return out


def kept(name: str, steps: int) -> dict[str, list[float]]:
    """Return a preset's run from build/, computing it when the code has changed."""
    code = hash_of_files(files_in(ROOT / "py", "*.py"), ROOT)
    key = hash_of(name, steps, code, sha256_of(CORPUS))
    path = BUILD / "parity" / f"{key}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run(name, steps)))
    result: dict[str, list[float]] = json.loads(path.read_text())
    return result


def main() -> None:
    """Print the runs that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="+", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    print(json.dumps({name: kept(name, args.steps) for name in args.presets}))


if __name__ == "__main__":
    main()
