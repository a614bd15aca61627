"""Serves a folder on 127.0.0.1, with the headers that give a page shared memory.

Cross-origin isolation (COOP and COEP) is what lets the CPU engine use threads.
`--no-isolation` leaves the headers out, to test the page without them; `--until-eof`
ends the server when its standard input closes: it cannot outlive who started it.
"""

import argparse
import functools
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.paths import DIST
from tools.shell import BuildError, say

HOST = "127.0.0.1"
ISOLATION = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TYPES = {
    "": "application/octet-stream",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".whl": "application/zip",
    ".zip": "application/zip",
}


class PageHandler(SimpleHTTPRequestHandler):
    """Answers with the right types and, where wanted, with isolation."""

    extensions_map = TYPES
    protocol_version = "HTTP/1.1"

    def __init__(
        self, *args: object, is_isolated: bool, is_quiet: bool, directory: str
    ) -> None:
        """Take what `functools.partial` gives, then the server's own arguments."""
        self.is_isolated = is_isolated
        self.is_quiet = is_quiet
        super().__init__(*args, directory=directory)  # type: ignore[arg-type]

    def end_headers(self) -> None:
        """Add the headers of every answer."""
        self.send_header("Cache-Control", "no-cache")
        for name, value in ISOLATION.items() if self.is_isolated else ():
            self.send_header(name, value)
        super().end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing of what was served: a page loads dozens of files."""

    def log_message(self, format: str, *words: object) -> None:
        """Name what was not found, unless a program started the server."""
        if not self.is_quiet:
            super().log_message(format, *words)


class PageServer(ThreadingHTTPServer):
    """Says nothing of a page that closes while it loads; tells all other errors."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Report what went wrong with a request, unless its page went away."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def make_server(
    folder: Path, port: int, *, is_isolated: bool = True, is_quiet: bool = False
) -> ThreadingHTTPServer:
    """Return a server of a folder that listens already; port 0 takes a free one.

    Raises:
        BuildError: the port is taken, or there is no such port.
    """
    handler = functools.partial(
        PageHandler,
        is_isolated=is_isolated,
        is_quiet=is_quiet,
        directory=str(folder),
    )
    try:
        return PageServer((HOST, port), handler)
    except (OSError, OverflowError) as error:
        raise BuildError(
            f"cannot listen on {HOST}:{port}: {error}; choose another with --port"
        ) from error


def serve(server: ThreadingHTTPServer) -> None:
    """Serve until interrupted."""
    say(f"serving {DIST.name}/ on http://{HOST}:{server.server_port}/")
    say("stop with Ctrl-C")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say("stopped")


def main() -> None:
    """Serve a folder for a program: print the URL, end when standard input closes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=DIST)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--no-isolation", action="store_true")
    parser.add_argument("--until-eof", action="store_true")
    given = parser.parse_args()
    isolated = not given.no_isolation
    with make_server(
        given.folder, given.port, is_isolated=isolated, is_quiet=True
    ) as server:
        print(f"http://{HOST}:{server.server_port}/", flush=True)
        if given.until_eof:
            serving = threading.Thread(target=server.serve_forever, daemon=True)
            serving.start()
            sys.stdin.read()
            server.shutdown()
        else:
            server.serve_forever()


if __name__ == "__main__":
    main()
