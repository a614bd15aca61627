"""build.json, what the page reads first."""

from tools.bundle import describe
from tools.toolchain import NoEmscripten


def a_dist(folder, *engines):
    (folder / "engine").mkdir()
    for name in engines:
        (folder / "engine" / f"{name}.mjs").write_text("glue")
    wheel = folder / "tabgrad-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    return wheel


def test_it_names_each_engine_and_the_size_of_each_file(tmp_path):
    wheel = a_dist(tmp_path, "engine32", "engine64")
    got = describe(tmp_path, wheel, None)
    assert got["engines"] == {
        "engine32": "engine/engine32.mjs",
        "engine64": "engine/engine64.mjs",
    }
    assert got["engine_missing"] is None
    assert got["wheel"] == wheel.name
    assert got["bytes"] == {
        "engine/engine32.mjs": 4,
        "engine/engine64.mjs": 4,
        wheel.name: 5,
    }


def test_without_a_compiler_it_says_why_and_how_to_get_one(tmp_path):
    missing = NoEmscripten(reason="emcc is 3.1.6", remedy="install a newer one")
    got = describe(tmp_path, a_dist(tmp_path), missing)
    assert got["engines"] == {}
    assert got["engine_missing"] == {
        "reason": "emcc is 3.1.6",
        "remedy": "install a newer one",
    }


def test_the_build_changes_with_the_content_of_a_file(tmp_path):
    wheel = a_dist(tmp_path)
    first = describe(tmp_path, wheel, None)["build"]
    assert describe(tmp_path, wheel, None)["build"] == first
    wheel.write_bytes(b"other")
    assert describe(tmp_path, wheel, None)["build"] != first
