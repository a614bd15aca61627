"""Writes docs/ops.md, the table of ops, from their contracts.

Usage: python3 -m tools.ops_docs
"""

from tabgrad.ops import OPS, Op
from tabgrad.ops.contract import Arg
from tools.paths import ROOT

PAGE = ROOT / "docs" / "ops.md"

HEAD = """# Ops

Written by `python3 -m tools.ops_docs` from the contracts in `py/tabgrad/ops/`; a test
holds it to them. Sizes: **B** batch, **T** time (block_size), **C** channels (n_embd),
**H** heads, **D** = C / H, **F** = 4 C, **V** vocabulary, **R** = B T rows; **M K N** a
generic product; **S** steps in a chunk, **N** elements of a flat tensor, **P** partial
sums; **G** members of a group, **W** a vector's length padded to whole places of a
plan. Arguments stand in binding order: reads, then updates (read and written), then
writes; `+=` marks an output that a call may add to. The tolerance is what a backend may
differ by from the reference in float64: abs + rel times the largest value.
"""


def _shape(arg: Arg) -> str:
    axes = [f"{factor if factor > 1 or not d else ''}{d}" for factor, d in arg.axes]
    return f"({', '.join(axes)}{', u32' if arg.dtype == 'u32' else ''})"


def _args(op: Op, access: str) -> str:
    shown = [
        f"`{a.name}` {_shape(a)}{' +=' if a.name in op.adds else ''}"
        for a in op.args
        if a.access == access
    ]
    return "  ".join(shown) or "nothing"


def section(op: Op) -> str:
    """Return the section of one op."""
    summary = " ".join((op.reference.__doc__ or "").split())
    lines = [f"## {op.name}", "", summary, ""]
    lines.append(f"- reads {_args(op, 'read')}")
    if op.updates:
        lines.append(f"- updates {_args(op, 'update')}")
    if op.writes:
        lines.append(f"- writes {_args(op, 'write')}")
    if op.attrs:
        lines.append(f"- constants {', '.join(f'`{a}`' for a in op.attrs)}")
    if op.vjp:
        lines.append(f"- gradient by {', '.join(f'`{v.op}`' for v in op.vjp)}")
    lines.append(f"- tolerance rel {op.tol.rel:g}, abs {op.tol.abs:g}")
    return "\n".join(lines)


def page() -> str:
    """Return the whole page."""
    return "\n\n".join([HEAD.rstrip(), *map(section, OPS.values())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
