"""Running programs, saying what is done, and the error that ends a build."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TAIL_LINES = 40


class BuildError(Exception):
    """Something that the build needs failed; the message says what to do."""


def say(text: str) -> None:
    """Print one line about what the build does."""
    print(f"tabgrad: {text}", flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what is being done, and at the end how long it took."""
    say(f"{text} ...")
    start = time.monotonic()
    yield
    say(f"{text}: done in {time.monotonic() - start:.1f} s")


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a program quietly and return what it printed.

    Args:
        command: program and arguments.
        cwd: folder to run it in.
        env: variables added to the present environment.

    Returns:
        Its standard output and standard error, in the order written.

    Raises:
        BuildError: it could not start or ended with another status than 0; the message
            holds the end of its output.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"cannot start {words[0]}: {error}") from error
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-TAIL_LINES:])
        raise BuildError(
            f"`{' '.join(words)}` ended with status {done.returncode}:\n{tail}"
        )
    return done.stdout


def show(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a program with its output on the terminal and return its exit status."""
    words = [str(word) for word in command]
    sys.stdout.flush()
    try:
        done = subprocess.run(
            words, cwd=cwd, env={**os.environ, **(env or {})}, check=False
        )
    except OSError as error:
        raise BuildError(f"cannot start {words[0]}: {error}") from error
    return done.returncode
