"""Buffers on a GPU: all of a plan's storages, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tabgrad.backends.webgpu_host import ErrorScopes, GpuHost, JsObject, js_message
from tabgrad.errors import BackendError
from tabgrad.plan import ALIGN_BYTES

_STORAGE_COPY_BOTH = 0x80 | 0x04 | 0x08  # GPUBufferUsage STORAGE, COPY_SRC, COPY_DST


def usable_bytes(limits: JsObject) -> int:
    """Return the largest storage that a device of these limits can bind.

    The two limits may contradict each other; a place is aligned to 256.
    """
    least = min(int(limits.maxBufferSize), int(limits.maxStorageBufferBindingSize))
    return least // ALIGN_BYTES * ALIGN_BYTES


def check_fits(storages: Mapping[str, int], limit: int, adapter: str) -> None:
    """Raise BackendError for a storage that the device cannot bind."""
    for storage, n_bytes in storages.items():
        if n_bytes > limit:
            raise BackendError(
                f"storage {storage} needs {n_bytes:,} bytes, but {adapter} binds at "
                f"most {limit:,}; choose a smaller preset or batch_size"
            )


async def allocate(host: GpuHost, storages: Mapping[str, int]) -> dict[str, JsObject]:
    """Return a zeroed buffer for each storage.

    Raises:
        BackendError: the device refuses one; those made before are given back.
    """
    buffers: dict[str, JsObject] = {}
    scopes: dict[str, ErrorScopes] = {}
    try:
        for name, n_bytes in storages.items():
            with ErrorScopes(host) as scopes[name]:
                wanted = {"label": name, "size": n_bytes, "usage": _STORAGE_COPY_BOTH}
                try:
                    buffers[name] = host.device.createBuffer(host.to_js(wanted))
                except host.js_error as error:
                    words = js_message(error)
                    raise _refused(name, n_bytes, storages, words) from error
        found = await asyncio.gather(*(s.first_error() for s in scopes.values()))
        for name, refused in zip(scopes, found, strict=True):
            if refused:
                raise _refused(name, storages[name], storages, refused)
    except BackendError:
        destroy(buffers)
        raise
    return buffers


def _refused(
    name: str, n_bytes: int, storages: Mapping[str, int], words: str
) -> BackendError:
    total = sum(storages.values())
    return BackendError(
        f"the GPU cannot allocate {name}, {n_bytes:,} bytes of {total:,} for this "
        f"plan: {words}; choose a smaller preset or batch_size, or another backend"
    )


def destroy(buffers: Mapping[str, JsObject]) -> None:
    """Give buffers back at once, without waiting for a collector."""
    for buffer in buffers.values():
        buffer.destroy()
