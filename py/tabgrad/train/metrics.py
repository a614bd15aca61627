"""How long steps take: the first apart, then median, spread and rate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class StepTimes:
    """Wall time of each step of a run, in milliseconds.

    Steps run in chunks that are timed as a whole; each step of a chunk counts with
    the chunk's mean. The first step compiles and warms up, so it is kept apart.
    """

    first_ms: float | None = None
    later_ms: list[float] = field(default_factory=list)

    def add(self, n_steps: int, seconds: float) -> None:
        """Note a chunk of steps."""
        mean_ms = seconds * 1000 / n_steps
        if self.first_ms is None:
            self.first_ms, n_steps = mean_ms, n_steps - 1
        self.later_ms += [mean_ms] * n_steps

    def quantile_ms(self, q: float) -> float | None:
        """Return a quantile of the steps after the first; of the first if alone."""
        times = self.later_ms or ([] if self.first_ms is None else [self.first_ms])
        return float(np.quantile(times, q)) if times else None

    def summary(self, tokens_per_step: int) -> dict[str, object]:
        """Return first step, quantiles and tokens per second at the median."""
        median = self.quantile_ms(0.5)
        return {
            "first_step_ms": self.first_ms,
            "ms_per_step": {
                "median": median,
                "min": self.quantile_ms(0.0),
                "p25": self.quantile_ms(0.25),
                "p75": self.quantile_ms(0.75),
                "p90": self.quantile_ms(0.9),
            },
            "tokens_per_s": tokens_per_step * 1000 / median if median else None,
        }
