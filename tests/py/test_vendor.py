"""Third-party files: pinned by hash, tried from their sources in order."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tools.shell import BuildError
from tools.vendor import Fetcher, Part, Source, SourceError, read_manifest

GOOD = b"the file as it was pinned"
BAD = b"the file as someone changed it"
PIN = hashlib.sha256(GOOD).hexdigest()
OTHER = hashlib.sha256(BAD).hexdigest()


def part(*kinds: str) -> Part:
    sources = tuple({kind: f"from-{kind}"} for kind in kinds)
    return Part(path="pyodide/numpy.whl", sha256=PIN, sources=sources)


def fetcher(folder: Path) -> tuple[Fetcher, list[str]]:
    """Return a fetcher with sources of our own, and the list of those asked."""
    made, asked = Fetcher(folder, folder), []

    def gives(name: str, body: bytes) -> None:
        def source(_source: Source, target: Path) -> None:
            asked.append(name)
            target.write_bytes(body)

        made.kinds[name] = source

    def is_silent(source: Source, _target: Path) -> None:
        asked.append("silent")
        raise SourceError(f"{source['silent']} does not answer")

    gives("good", GOOD)
    gives("bad", BAD)
    made.kinds["silent"] = is_silent
    return made, asked


def test_a_wrong_hash_names_file_got_and_wanted(tmp_path: Path) -> None:
    made, _ = fetcher(tmp_path)
    with pytest.raises(BuildError) as caught:
        made.get(part("bad"))
    message = str(caught.value)
    assert "pyodide/numpy.whl from bad from-bad" in message
    assert f"got    {OTHER}" in message
    assert f"wanted {PIN}" in message


def test_a_wrong_hash_is_not_hidden_by_a_later_source(tmp_path: Path) -> None:
    made, asked = fetcher(tmp_path)
    with pytest.raises(BuildError, match="wrong SHA-256"):
        made.get(part("bad", "good"))
    assert asked == ["bad"]


def test_a_file_with_a_wrong_hash_is_not_kept(tmp_path: Path) -> None:
    made, _ = fetcher(tmp_path)
    with pytest.raises(BuildError, match="wrong SHA-256"):
        made.get(part("bad"))
    assert [path for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_the_second_source_is_asked_when_the_first_is_silent(tmp_path: Path) -> None:
    made, asked = fetcher(tmp_path)
    assert made.get(part("silent", "good")).read_bytes() == GOOD
    assert asked == ["silent", "good"]


def test_the_second_source_is_left_alone_when_the_first_answers(tmp_path: Path) -> None:
    made, asked = fetcher(tmp_path)
    made.get(part("good", "bad"))
    assert asked == ["good"]


def test_no_source_names_each_refusal(tmp_path: Path) -> None:
    made, _ = fetcher(tmp_path)
    with pytest.raises(
        BuildError, match=r"no source gave pyodide/numpy\.whl"
    ) as caught:
        made.get(part("silent", "silent"))
    assert str(caught.value).count("from-silent does not answer") == 2


def test_a_kept_file_is_not_fetched_again(tmp_path: Path) -> None:
    fetcher(tmp_path)[0].get(part("good"))
    again, asked = fetcher(tmp_path)
    assert again.get(part("good")).read_bytes() == GOOD
    assert asked == []


def test_a_kept_file_that_changed_is_fetched_again(tmp_path: Path) -> None:
    made, asked = fetcher(tmp_path)
    made.get(part("good")).write_bytes(BAD)
    assert made.get(part("good")).read_bytes() == GOOD
    assert asked == ["good", "good"]


def test_an_address_that_does_not_answer_is_a_refusal(tmp_path: Path) -> None:
    made = Fetcher(tmp_path, tmp_path)
    source = {"url": "http://127.0.0.1:1/nothing-listens-here"}
    one = Part(path="a", sha256=PIN, sources=(source, source))
    with pytest.raises(BuildError, match=r"127\.0\.0\.1:1 did not answer before"):
        made.get(one)


def test_only_the_named_member_of_a_wheel_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "other-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("inside/numpy.whl", GOOD)
        archive.writestr("inside/else.txt", BAD)
    made = Fetcher(tmp_path / "store", tmp_path)
    monkeypatch.setattr(made, "_wheel", lambda _requirement: wheel)
    source = {"wheel": "other==1", "member": "inside/numpy.whl"}
    one = Part(path="a", sha256=PIN, sources=(source,))
    assert made.get(one).read_bytes() == GOOD


def test_the_manifest_pins_each_file_once_and_by_known_kinds(tmp_path: Path) -> None:
    parts = read_manifest()
    paths = [one.path for one in parts]
    kinds = {next(iter(source)) for one in parts for source in one.sources}
    assert len(set(paths)) == len(paths)
    assert kinds <= set(Fetcher(tmp_path, tmp_path).kinds)
    assert all(len(one.sha256) == 64 and one.sources for one in parts)
