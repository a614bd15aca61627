"""A whole run of a preset on PyTorch, for the run in a tab to be held to.

Usage: python3 -m tests.parity.torch_run PRESET [--steps N]

Prints one JSON object: {losses, val_losses, val_steps}. float32, the preset's own seed,
steps and evaluation; weights and batches are tabgrad's.
"""

import argparse
import json

import numpy as np
import torch
from numpy.typing import NDArray

from tabgrad.config import LAYERNORM_EPS, RunConfig
from tabgrad.init import initial_weights
from tabgrad.plan import build_plan
from tabgrad.presets import PRESETS, preset
from tabgrad.text.batches import eval_offsets, train_offsets
from tabgrad.text.split import SplitText, split_text
from tests.parity import torch_gpt
from tests.parity.numpy_losses import CORPUS


def initial(config: RunConfig, text: SplitText) -> dict[str, torch.Tensor]:
    """Return the weights that every run of this seed begins with."""
    weights = {}
    for number, param in enumerate(build_plan(config, len(text.tokens)).params):
        size, shape = param.tensor.size, param.tensor.shape
        values = initial_weights(param, number, config.train.seed, 0, size)
        weights[param.name] = torch.tensor(values.reshape(shape)).requires_grad_()
    return weights


def batch(
    text: SplitText, starts: NDArray[np.uint32]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets (B, T) of windows."""
    at = starts.astype(np.int64)[:, None] + np.arange(text.block_size)
    tokens = text.tokens.astype(np.int64)
    return torch.tensor(tokens[at]), torch.tensor(tokens[at + 1])


def run(name: str, n_steps: int | None = None) -> dict[str, list[float]]:
    """Train a preset and return its losses, and the held-out ones."""
    config = preset(name)
    config = config.replace(steps=n_steps) if n_steps else config
    train, n_head = config.train, config.model.n_head
    tokens = np.frombuffer(CORPUS.read_bytes(), np.uint8).astype(np.uint32)
    text = split_text(tokens, config.model.block_size)
    weights = initial(config, text)
    optimiser = torch_gpt.adamw(weights, train.lr)
    starts = train_offsets(text, train.seed, range(train.steps), train.batch_size)
    held_out = eval_offsets(text, train.eval_batches, train.batch_size)
    out: dict[str, list[float]] = {"losses": [], "val_losses": [], "val_steps": []}

    def loss_of(rows: NDArray[np.uint32]) -> torch.Tensor:
        return torch_gpt.loss(weights, *batch(text, rows), n_head, LAYERNORM_EPS)

    for step in range(train.steps):
        optimiser.zero_grad()
        loss = loss_of(starts[step])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), train.grad_clip)
        optimiser.step()
        out["losses"].append(loss.item())
        if (step + 1) % train.eval_every == 0:
            with torch.no_grad():
                means = [loss_of(rows).item() for rows in held_out]
            out["val_losses"].append(float(np.mean(means)))
            out["val_steps"].append(step + 1)
    return out


def main() -> None:
    """Print the run that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, help="default: the preset's")
    given = parser.parse_args()
    print(json.dumps(run(given.preset, given.steps)))


if __name__ == "__main__":
    main()
