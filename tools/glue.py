"""Mends the JavaScript that Emscripten writes, where a browser wants it otherwise.

Its main thread waits by `Atomics.waitAsync` on the engine's memory for messages of the
other threads, which nobody sends. That promise never settles, and keeps the memory
after the engine has ended. Without it messages would come by `postMessage`.

Emscripten 3.1.69 describes a 64-bit memory with the key `index`, which browsers do not
read: they take the memory for a 32-bit one, and refuse BigInts as its bounds. The key
that they know is `address`. Newer Emscriptens write it themselves: nothing changes.
"""

import re

from tools.shell import BuildError

OLD_KEY = re.compile(r"""(?<![\w$])(["']?)index\1(\s*:\s*)(["'])i64\3""")
PROBE = re.compile(
    r"""new WebAssembly\.Memory\(\{\s*initial:\s*1n,\s*"""
    r"""["']?address["']?:\s*["']i64["']\s*\}\)"""
)
NEW_KEY = re.compile(r"""(?<![\w$])(["']?)address\1\s*:\s*(["'])i64\2""")
WAITS = re.compile(r"""typeof Atomics\.waitAsync\s*===?\s*(["'])function\1""")


def mend(glue: str, expected: int, waits: int, name: str) -> str:
    """Return the glue with every 64-bit descriptor under the key that browsers know.

    Args:
        glue: the JavaScript module that Emscripten wrote.
        expected: how many 64-bit descriptors it must hold, 0 for a 32-bit build.
        waits: how often it must ask for `Atomics.waitAsync`, 0 without threads.
        name: the file, for the error.

    Raises:
        BuildError: another number is there, so that this mending was written for
            another glue than this one.
    """
    mended = OLD_KEY.sub(r"\1address\1\2\3i64\3", glue)
    got = len(NEW_KEY.findall(mended))
    if got != expected:
        raise BuildError(
            f"{name} holds {got} 64-bit descriptors (index or address: i64), wanted "
            f"{expected}: read what this Emscripten writes, then change tools/engine.py"
        )
    mended, found = WAITS.subn("false", mended)
    if found != waits:
        raise BuildError(
            f"{name} asks {found} times for Atomics.waitAsync, wanted {waits}: read "
            "what this Emscripten writes, then change tools/glue.py"
        )
    return PROBE.sub("0", mended)
