"""Mending of the glue that Emscripten writes: 64-bit memories, and waits for ever."""

import pytest

from tools.glue import mend
from tools.shell import BuildError

OLD = (
    'try{new WebAssembly.Memory({initial:1n,index:"i64"})}catch(e){b=0}'
    "wasmMemory=new WebAssembly.Memory({initial:n,shared:true,'index': 'i64'})"
)
NEW = (
    "try{0}catch(e){b=0}"
    "wasmMemory=new WebAssembly.Memory({initial:n,shared:true,'address': 'i64'})"
)


def test_every_old_key_becomes_the_new_one() -> None:
    assert mend(OLD, 2, 0, "engine64.mjs") == NEW


def test_glue_with_the_new_key_keeps_it() -> None:
    glue = OLD.replace("index", "address")
    assert mend(glue, 2, 0, "engine64.mjs") == NEW


def test_no_memory_is_made_to_ask_for_bigints() -> None:
    assert "initial:1n" in OLD
    assert "initial:1n" not in mend(OLD, 2, 0, "engine64.mjs")


def test_other_uses_of_index_stay_as_they_are() -> None:
    glue = 'row.index="i64";pick({myindex:"i64",index:"i32"})'
    assert mend(glue, 0, 0, "engine32.mjs") == glue


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_another_count_than_expected_is_an_error(expected: int) -> None:
    with pytest.raises(BuildError, match=f"holds 2 .* wanted {expected}"):
        mend(OLD, expected, 0, "engine64.mjs")


WAIT = 'if(typeof Atomics.waitAsync==="function"){Atomics.waitAsync(HEAP32,p,p).value}'


def test_no_memory_is_waited_for_where_nobody_wakes() -> None:
    mended = mend(WAIT, 0, 1, "engine32.mjs")
    assert mended == "if(false){Atomics.waitAsync(HEAP32,p,p).value}"


@pytest.mark.parametrize("expected", [0, 2])
def test_another_count_of_waits_than_expected_is_an_error(expected: int) -> None:
    with pytest.raises(BuildError, match=f"asks 1 times .* wanted {expected}"):
        mend(WAIT, 0, expected, "engine32.mjs")
