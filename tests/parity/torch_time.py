"""Times training steps of a preset on PyTorch's CPU, for the bench to set beside a tab.

Usage: python3 -m tests.parity.torch_time PRESET STEPS THREADS

Prints one JSON object: {adapter, ms_per_step: {median, min, p90}, first_step_ms,
tokens_per_s}. The model, weights and batches are those of the parity tests.
"""

import argparse
import json
import time

import numpy as np
import torch

from tabgrad.config import LAYERNORM_EPS
from tabgrad.presets import PRESETS, preset
from tabgrad.text.batches import train_offsets
from tabgrad.text.split import split_text
from tests.parity import torch_gpt
from tests.parity.numpy_losses import CORPUS
from tests.parity.torch_run import batch, initial


def times_ms(name: str, n_steps: int) -> list[float]:
    """Return the ms of each step: batch, forward, backward, clip, AdamW, loss read."""
    config = preset(name)
    train, n_head = config.train, config.model.n_head
    tokens = np.frombuffer(CORPUS.read_bytes(), np.uint8).astype(np.uint32)
    text = split_text(tokens, config.model.block_size)
    weights = initial(config, text)
    optimiser = torch_gpt.adamw(weights, train.lr)
    starts = train_offsets(text, train.seed, range(n_steps), train.batch_size)
    times = []
    for rows in starts:
        start = time.perf_counter()
        ids, targets = batch(text, rows)
        optimiser.zero_grad()
        loss = torch_gpt.loss(weights, ids, targets, n_head, LAYERNORM_EPS)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), train.grad_clip)
        optimiser.step()
        loss.item()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def main() -> None:
    """Print the times that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("steps", type=int)
    parser.add_argument("threads", type=int)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    first, *rest = times_ms(given.preset, given.steps)
    median, least, p90 = (float(x) for x in np.quantile(rest, (0.5, 0, 0.9)))
    spread = {"median": median, "min": least, "p90": p90}
    row = {
        "backend": "PyTorch",
        "adapter": f"{torch.__version__}, threads: {given.threads}",
        "ms_per_step": spread,
        "first_step_ms": first,
        "tokens_per_s": 1e3 * preset(given.preset).tokens_per_step / median,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
