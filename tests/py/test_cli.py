"""The commands of build.py: what fails is told in words, and clean deletes its own."""

from pathlib import Path

import pytest

from tools import bundle, cli
from tools.serve import make_server


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the commands work on folders of the test's own."""
    for name in ("BUILD", "DIST", "RESULTS", "ROOT"):
        monkeypatch.setattr(cli, name, tmp_path / "clone" / name.lower())
    monkeypatch.setenv("TABGRAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_clean_keeps_what_others_put_into_the_cache_folder(cache: Path) -> None:
    for name in ("files", "venv", "of another"):
        (cache / name).mkdir(parents=True)
    assert cli.main(["clean", "--cache"]) == 0
    assert [path.name for path in cache.iterdir()] == ["of another"]


def test_clean_deletes_a_link_and_not_what_it_leads_to(
    cache: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cli.ROOT.mkdir(parents=True)
    link = cli.ROOT / "node_modules"
    link.symlink_to(elsewhere)
    assert cli.main(["clean"]) == 0
    assert not link.is_symlink()
    assert elsewhere.is_dir()


def test_a_cache_folder_that_cannot_be_is_named(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("a file")
    assert cli.main(["clean", "--cache"]) == 1
    said = capsys.readouterr().out
    assert f"failed: no cache folder {cache}: File exists" in said
    assert "TABGRAD_CACHE" in said


def test_what_the_system_refuses_is_told_without_a_traceback(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied", "/there")

    monkeypatch.setattr(bundle, "build_dist", refuse)
    assert cli.main(["dist"]) == 1
    assert "failed: [Errno 13] Permission denied: '/there'" in capsys.readouterr().out


def test_a_port_that_cannot_be_is_told_before_anything_is_built(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def forbid_build() -> None:
        raise AssertionError("nothing may be built here")

    monkeypatch.setattr(bundle, "build_dist", forbid_build)
    with make_server(tmp_path, 0) as taken:
        for port in (taken.server_port, 99_999):
            assert cli.main(["serve", "--port", str(port)]) == 1
            assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().out
