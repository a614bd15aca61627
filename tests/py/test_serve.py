"""The server: types, and the headers that make a page cross-origin isolated."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path

import pytest

from tools.serve import HOST, make_server
from tools.shell import BuildError


@contextmanager
def served(folder: Path, *, is_isolated: bool = True) -> Iterator[int]:
    """Serve a folder while the block runs; yields the port."""
    with make_server(folder, 0, is_isolated=is_isolated, is_quiet=True) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def headers_of(port: int, name: str) -> HTTPMessage:
    connection = HTTPConnection(HOST, port, timeout=10)
    connection.request("GET", f"/{name}")
    reply = connection.getresponse()
    reply.read()
    connection.close()
    assert reply.status == 200
    return reply.headers


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("main.js", "text/javascript; charset=utf-8"),
        ("engine64.mjs", "text/javascript; charset=utf-8"),
        ("engine64.wasm", "application/wasm"),
        ("numpy.whl", "application/zip"),
        ("index.html", "text/html; charset=utf-8"),
        ("build.json", "application/json"),
    ],
)
def test_each_kind_of_file_has_its_type(tmp_path: Path, name: str, wanted: str) -> None:
    (tmp_path / name).write_text("x")
    with served(tmp_path) as port:
        assert headers_of(port, name)["Content-Type"] == wanted


def test_a_page_is_cross_origin_isolated(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("x")
    with served(tmp_path) as port:
        got = headers_of(port, "a.js")
    assert got["Cross-Origin-Opener-Policy"] == "same-origin"
    assert got["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert got["Cross-Origin-Resource-Policy"] == "same-origin"


def test_isolation_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("x")
    with served(tmp_path, is_isolated=False) as port:
        got = headers_of(port, "a.js")
    assert not [name for name in got if name.startswith("Cross-Origin")]


def test_a_taken_port_is_an_error_that_names_the_way_out(tmp_path: Path) -> None:
    with served(tmp_path) as port, pytest.raises(BuildError, match="--port"):
        make_server(tmp_path, port)


def test_a_page_that_goes_away_is_no_news_but_other_errors_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with make_server(tmp_path, 0, is_quiet=True) as server:
        for error, is_told in ((BrokenPipeError(), False), (ValueError("odd"), True)):
            try:
                raise error
            except (OSError, ValueError):
                server.handle_error(None, ("127.0.0.1", 1))
            assert ("odd" in capsys.readouterr().err) == is_told
