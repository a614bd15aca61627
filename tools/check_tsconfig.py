"""Holds that every script of the page stands in one of the tsc configurations.

Run: python -m tools.check_tsconfig TSC..., with the command that starts tsc.
"""

import subprocess
import sys
from pathlib import Path

from tools.check import TSCONFIGS
from tools.paths import ROOT


def checked_by(tsc: list[str], config: str) -> set[Path]:
    """Return the files that tsc reads under a configuration."""
    command = [*tsc, "--project", config, "--listFilesOnly"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {(ROOT / line).resolve() for line in listed.stdout.splitlines()}


def main(tsc: list[str]) -> int:
    """Name the scripts of site/ that no configuration reads; return 1 for any."""
    checked = set().union(*(checked_by(tsc, config) for config in TSCONFIGS))
    scripts = [p for kind in ("*.js", "*.mjs") for p in (ROOT / "site").rglob(kind)]
    left_out = sorted(set(scripts) - checked)
    for path in left_out:
        name = path.relative_to(ROOT)
        print(f"{name} is in neither of {', '.join(TSCONFIGS)}: add it to `include`")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
