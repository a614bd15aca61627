"""Lets the native engine choose a tile and prints what it did, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_choice build/native/libengine.so
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

from tabgrad.backends.wasm_abi import TILE_NAMES
from tests.cpp.native import NativeEngine, load_library

# std::size_t tabgrad::fastest_tile(const double*, std::size_t)
FASTEST_TILE = "_ZN7tabgrad12fastest_tileEPKdm"
ROUNDS = (  # GFLOP/s of each tile, in each round
    ((50, 40, 30),),
    ((30, 40, 50),),
    ((41.1, 40, 30),),
    ((41.3, 40, 30),),
    ((41.3, 40, 42),),
    ((40, 40, 40),),
    ((44, 40, 40), (22, 20, 20)),  # all slower for a while
    ((44, 40, 40), (44, 20, 40), (40, 40, 40)),  # the default slower in one
    ((42, 40, 45), (43, 40, 42)),
)


Rounds = tuple[tuple[float, ...], ...]


def fastest(library: ctypes.CDLL, rounds: Rounds) -> tuple[str, str]:
    """Return rates in words, and the tile that the engine takes by them."""
    choose = library[FASTEST_TILE]
    choose.restype = ctypes.c_size_t
    rates = [rate for row in rounds for rate in row]
    numbers = (ctypes.c_double * len(rates))(*rates)
    chosen = choose(numbers, ctypes.c_size_t(len(rounds)))
    return ", ".join(" ".join(map(str, row)) for row in rounds), TILE_NAMES[chosen]


def main(path: Path) -> None:
    """Choose by given rates, by timing, and by hand."""
    library = load_library(path)
    tiles = range(len(TILE_NAMES))
    report: dict[str, object] = {"fastest": dict(fastest(library, r) for r in ROUNDS)}
    engine = NativeEngine(library, 1 << 12, 1 << 8, 1, -1)
    waits = [library.tg_time_tiles()]
    while waits[-1] >= 0:
        waits.append(library.tg_time_tiles())
    report["waits"] = waits
    report["chosen"] = library.tg_use_tile(-1)
    report["rates"] = [library.tg_tile_gflops(tile) for tile in tiles]
    library.tg_use_tile(2)
    engine.free()
    engine = NativeEngine(library, 1 << 12, 1 << 8, 1, -1)
    report["next"] = engine.tile
    report["used"] = [library.tg_use_tile(tile) for tile in (0, -1, 3, 2)]
    engine.free()
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
