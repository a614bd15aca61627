"""The page's table of presets, which it has before Python, is the engine's."""

import json
import re
from pathlib import Path

import pytest

from tabgrad.plan import build_plan
from tabgrad.presets import DEFAULT_PRESET, PRESETS

CORPUS_TOKENS = 1_115_394  # TinyShakespeare as bytes


@pytest.fixture(scope="module")
def script(root: Path) -> str:
    return (root / "site/js/presets.js").read_text()


def rows(script: str) -> dict[str, dict[str, int]]:
    columns = re.search(r"const COLUMNS = (\[.*?\]);", script, re.DOTALL)
    table = re.search(r"const ROWS = (\{.*?\});", script, re.DOTALL)
    assert columns
    assert table
    names = json.loads(re.sub(r",\s*\]", "]", columns[1]))
    values = json.loads(re.sub(r",\s*\}", "}", table[1]))
    return {k: dict(zip(names, row, strict=True)) for k, row in values.items()}


def test_the_table_has_the_presets_in_their_order(script):
    assert list(rows(script)) == list(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_row_has_the_sizes_and_the_memory_of_its_preset(script, name):
    config = PRESETS[name]
    plan = build_plan(config, CORPUS_TOKENS, is_fused=True)
    known = {**config.to_dict(), "n_params": plan.n_params, "bytes": plan.n_bytes}
    row = rows(script)[name]
    assert row == {key: known[key] for key in row}


def test_what_every_preset_shares_is_the_default(script):
    found = re.search(r"export const DEFAULTS = (\{.*?\});", script, re.DOTALL)
    assert found
    quoted = re.sub(r"(\w+):", r'"\1":', found[1])
    shared = json.loads(re.sub(r",\s*\}", "}", quoted))
    default = PRESETS[DEFAULT_PRESET].to_dict()
    assert shared == {key: default[key] for key in shared}
    assert f'DEFAULT_PRESET = "{DEFAULT_PRESET}"' in script
