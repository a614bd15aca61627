"""Says what of a plan does not fit the CPU engine's memory, and what would."""

from __future__ import annotations

from tabgrad.backends.wasm_abi import shared_bytes
from tabgrad.errors import BackendError
from tabgrad.plan import Plan


class NoRoomError(BackendError):
    """The page cannot have the memory that an engine was asked to have.

    Args:
        message: how much was wanted and why it is not there.
        most_bytes: what the page can have, or 0 where that is not known.
    """

    def __init__(self, message: str, most_bytes: int = 0) -> None:
        """Keep the limit beside the message."""
        super().__init__(message)
        self.most_bytes = most_bytes


def room_words(plan: Plan, most_bytes: int) -> str:
    """Return which tensors of a plan take its memory, and what would fit.

    Args:
        plan: one that does not fit.
        most_bytes: what there is, or 0 where that is not known.
    """
    fixed = sum(n for name, n in plan.storages.items() if name.startswith("page."))
    act = max(
        (t for t in plan.tensors.values() if t.role == "act"), key=lambda t: t.n_bytes
    )
    shape = " x ".join(map(str, act.shape))
    held = (
        f"Of the plan's {_gb(plan.n_bytes)}, weights, gradients and two moments of "
        f"{plan.n_params:,} parameters take {_gb(fixed)}; the rest is nearly all "
        f"activations, the largest {act.name} ({shape}) with {_gb(act.n_bytes)}."
    )
    return f"{held} {_way_out(plan, fixed, most_bytes)}"


def _way_out(plan: Plan, fixed: int, most_bytes: int) -> str:
    if most_bytes == 0:
        return "Fewer layers, a smaller n_embd, batch_size or block_size take less."
    calls = (call for program in plan.programs.values() for call in program)
    most_bytes -= shared_bytes(calls)  # which a smaller batch makes no larger
    if fixed >= most_bytes:
        params = int(plan.n_params * most_bytes / fixed)
        return (
            f"What fits has fewer than {params:,} parameters: choose fewer layers or a "
            "smaller n_embd."
        )
    share = int(100 * (most_bytes - fixed) / (plan.n_bytes - fixed))
    return (
        f"What fits has batch_size x block_size at most {share} % of this, or fewer "
        "layers, or a smaller n_embd."
    )


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB"
