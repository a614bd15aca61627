"""Content hashes that tell whether a step is still done, and locks between builds."""

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_of(*parts: object) -> str:
    """Return one hash of values that json can write."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of_files(paths: Iterable[Path], below: Path) -> str:
    """Return one hash of the files' content and their paths below a folder."""
    return hash_of(
        [(p.relative_to(below).as_posix(), sha256_of(p)) for p in sorted(paths)]
    )


def files_in(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the files below a folder, sorted, without Python's bytecode."""
    return sorted(
        path
        for path in folder.rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    )


def is_done(stamp: Path, key: str, *outputs: Path) -> bool:
    """Return whether the stamp holds this key and every output is still there."""
    return (
        stamp.is_file()
        and stamp.read_text() == key
        and all(output.exists() for output in outputs)
    )


def mark_done(stamp: Path, key: str) -> None:
    """Write the key, after the step's outputs are complete."""
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold a lock in a folder: clones that share the cache take turns."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
