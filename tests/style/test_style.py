"""House style that no linter knows: sizes, words, and things that must not be said."""

import re
import subprocess
from pathlib import Path

import pytest

OURS = (".py", ".js", ".mjs", ".wgsl", ".cpp", ".h", ".css", ".html")
LONGEST_FILE = 450
# Ruff holds Python and Biome holds JavaScript to 88.
LONGEST_LINE = {".wgsl": 100, ".cpp": 100, ".h": 100}
# Words are put together here so that this file does not hold what it looks for.
REGISTRIES = "|".join(("npm" + "js", "py" + "pi", "pythonhosted", "debian"))
SAID_NOWHERE = {
    "a registry's address": rf"https?://[^\s\"']*({REGISTRIES})\b",
    "a folder of one machine": r"(?<![\w.])/(home|tmp|root|work)/\w",
}
SAID_NOWHERE_IN_CODE = {
    "an open end without an issue": r"\b(TODO|FIXME|XXX)\b(?! ?\(?#\d)",
    "an empty catch": r"catch\s*(\([^)]*\))?\s*\{\s*\}",
    "an exception passed over": r"except[^:\n]*:\s*(#[^\n]*)?\n?\s*pass\b",
    "a test that is left out": r"\.(skip|fixme|only)\(|pytest\.mark\.(skip|xfail)\b",
    "a check that cannot fail": r"\bassert True\b|expect\(true\)",
}
VAGUE_NAMES = {"data", "info", "util", "utils", "helper", "helpers", "manager", "misc"}


def tracked(root: Path) -> list[Path]:
    """Return the files of the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True
    )
    paths = [root / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def ours(root: Path) -> list[Path]:
    """Return the source files of the repository."""
    return [path for path in tracked(root) if path.suffix in OURS]


def places(root: Path, paths: list[Path], pattern: str) -> list[str]:
    """Return file, line and text of each place that matches."""
    found = []
    for path in paths:
        text = path.read_text(errors="replace")
        for match in re.finditer(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(root)}:{line}: {match.group(0)!r}")
    return found


def test_the_repository_is_read(root: Path) -> None:
    assert len(ours(root)) > 30


def test_no_file_is_longer_than_a_reader_bears(root: Path) -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in ours(root)}
    assert {p.name: n for p, n in lengths.items() if n > LONGEST_FILE} == {}


def test_no_line_is_longer_than_its_language_allows(root: Path) -> None:
    long = [
        f"{path.relative_to(root)}:{number}"
        for path in ours(root)
        if path.suffix in LONGEST_LINE
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE[path.suffix]
    ]
    assert long == []


@pytest.mark.parametrize("what", SAID_NOWHERE)
def test_no_file_holds(root: Path, what: str) -> None:
    assert places(root, tracked(root), SAID_NOWHERE[what]) == []


@pytest.mark.parametrize("what", SAID_NOWHERE_IN_CODE)
def test_no_code_holds(root: Path, what: str) -> None:
    code = [path for path in ours(root) if path != Path(__file__).resolve()]
    assert places(root, code, SAID_NOWHERE_IN_CODE[what]) == []


def test_no_file_has_a_vague_name(root: Path) -> None:
    assert [path for path in ours(root) if path.stem.lower() in VAGUE_NAMES] == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("an empty catch", "try { a(); } catch (error) {\n}"),
        ("an empty catch", "try { a(); } catch {}"),
        ("an exception passed over", "try:\n    a()\nexcept OSError:\n    pass\n"),
        ("a test that is left out", "test.skip('a', b)"),
        ("a check that cannot fail", "expect(true).toBe(true)"),
    ],
)
def test_the_patterns_find_what_they_name(what: str, text: str) -> None:
    assert re.search(SAID_NOWHERE_IN_CODE[what], text)
