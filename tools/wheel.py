"""Builds the wheel that Pyodide installs: py/tabgrad with the kernels of wgsl/."""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

from tools.paths import ROOT
from tools.stamps import files_in

# The first moment that a zip archive can name: the same files give the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)
REGULAR_FILE = 0o100644 << 16


def version() -> str:
    """Return the version that pyproject.toml states."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def contents(root: Path = ROOT) -> dict[str, bytes]:
    """Return the package's files by their path in the wheel."""
    package, kernels = root / "py" / "tabgrad", root / "wgsl"
    members = {
        f"tabgrad/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in files_in(package)
    }
    for path in files_in(kernels, "*.wgsl"):
        name = path.relative_to(kernels).as_posix()
        members[f"tabgrad/wgsl/{name}"] = path.read_bytes()
    return members


def build_wheel(folder: Path, root: Path = ROOT) -> Path:
    """Write the wheel into a folder and return its path; same input, same bytes."""
    number = version()
    about = f"tabgrad-{number}.dist-info"
    members = contents(root)
    members[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: tabgrad\nVersion: {number}\n"
    ).encode()
    members[f"{about}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tabgrad\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n"
    )
    rows = [f"{name},{_digest(body)},{len(body)}" for name, body in members.items()]
    record = f"{about}/RECORD"
    members[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    wheel = folder / f"tabgrad-{number}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body in members.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = REGULAR_FILE
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, body)
    return wheel


def _digest(body: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest())
    return f"sha256={digest.decode().rstrip('=')}"
