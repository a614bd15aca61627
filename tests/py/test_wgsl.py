"""The assembler: constants in front, dispatches folded, one source for one kernel."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tabgrad.backends.variants import VARIANTS
from tabgrad.backends.wgsl import (
    MAX_GROUPS,
    assemble,
    case_kernels,
    fold_groups,
    preset_kernels,
    probe_kernels,
)
from tabgrad.errors import BackendError
from tabgrad.ops import OPS, Const
from tabgrad.ops.cases import case_call

CONST = re.compile(r"^const (\w+)(?:: \w+)? = .+;", re.MULTILINE)


def constants(op: str, consts: dict[str, Const], *, adds: bool = False) -> list[str]:
    source = assemble(case_call(OPS[op], consts, adds)[0]).source
    front = source.split("\n\n")[0]
    return front.splitlines()


@pytest.mark.parametrize(
    ("n", "folded"),
    [
        (1, (1, 1)),
        (MAX_GROUPS - 1, (MAX_GROUPS - 1, 1)),
        (MAX_GROUPS, (MAX_GROUPS, 1)),
        (MAX_GROUPS + 1, (32_768, 2)),
        (3 * MAX_GROUPS, (MAX_GROUPS, 3)),
    ],
)
def test_dispatch_folds_past_the_limit_of_a_dimension(
    n: int, folded: tuple[int, int]
) -> None:
    assert fold_groups(n) == folded
    assert folded[0] * folded[1] >= n


def test_dispatch_that_no_fold_holds_is_refused() -> None:
    with pytest.raises(BackendError, match="is over 65535 x 65535; choose a smaller"):
        fold_groups(MAX_GROUPS * MAX_GROUPS + 1)


def test_sizes_attrs_and_flags_stand_in_front() -> None:
    lines = constants("layernorm_fwd", {"R": 65, "C": 48, "EPS": 1e-5})
    assert lines == [
        "const WG: u32 = 64u;",
        "const GRID_X: u32 = 2u;",
        "const R: u32 = 65u;",
        "const C: u32 = 48u;",
        "const EPS = 1e-05;",
    ]
    lines = constants("layernorm_bwd_x", {"R": 1, "C": 2}, adds=True)
    assert lines[-1] == "const DX_ADDS: bool = true;"
    lines = constants("layernorm_bwd_x", {"R": 1, "C": 2})
    assert lines[-1] == "const DX_ADDS: bool = false;"


def test_what_a_row_needs_is_enabled_before_all_else() -> None:
    call, _ = case_call(OPS["attention_fwd"], {"R": 4, "C": 32, "H": 1, "T": 4}, False)
    (row,) = [v for v in VARIANTS if v.name == "quads32x32x32 4x8"]
    assert row.needs == {"subgroups"}
    assert assemble(call, row).source.startswith("enable subgroups;\nconst ")
    assert "enable" not in assemble(call).source


def test_a_whole_number_for_a_real_constant_stays_real() -> None:
    lines = constants("clip_scale", {"N": 1, "S": 4, "GRAD_CLIP": 1, "CLIP_EPS": 1e-6})
    assert "const GRAD_CLIP = 1.0;" in lines
    assert "BETA1" in OPS["adamw_update"].floats
    assert "N_DECAY" not in OPS["adamw_update"].floats
    assert "T" not in OPS["attention_fwd"].floats


def test_every_capital_in_a_kernel_is_declared_once() -> None:
    kernels = [*preset_kernels("Nano"), *preset_kernels("Small"), *case_kernels()]
    for source, label in {kernel.source: kernel.label for kernel in kernels}.items():
        declared = [match[1] for match in CONST.finditer(source)]
        assert len(set(declared)) == len(declared), label
        code = re.sub(r"//.*", "", source)
        used = set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", code))
        assert used <= set(declared), label


def test_equal_calls_share_a_source_and_layers_add_none() -> None:
    kernels = list(preset_kernels("Small"))
    assert len({kernel.source for kernel in kernels}) < len(kernels) / 3


def test_dump_writes_each_kernel_of_the_cases_and_presets(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tabgrad.backends.wgsl", "--dump", str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "py")}
    subprocess.run(command, check=True, env=environment)
    written = list(tmp_path.glob("*.wgsl"))
    labels = {path.name.rsplit(".", 2)[0] for path in written}
    kernels = [*case_kernels(), *probe_kernels()]
    assert labels == {re.sub(r"\W+", ".", kernel.label) for kernel in kernels}
    assert len({path.read_text() for path in written}) == len(written)
