"""The preset ladder: each is a diff of the base config, with its parameters."""

from __future__ import annotations

from tabgrad.config import RunConfig
from tabgrad.errors import ConfigError

BASE = RunConfig()


DEFAULT_PRESET = "Small"

# parameters = 258 C + T C + L (12 C^2 + 13 C)
_LADDER = {
    # name: L, H, C, T, B, steps
    "Nano": (1, 1, 32, 16, 8, 200),  # 21,472; for tests and phones
    "Tiny": (2, 3, 48, 32, 16, 2000),  # 70,464
    "Small": (3, 3, 96, 64, 16, 1500),  # 366,432
    "Medium": (4, 4, 128, 96, 16, 1000),  # 838,400
    "Large": (6, 6, 192, 128, 12, 600),  # 2,743,296
    "XL": (8, 8, 256, 128, 8, 400),  # 6,416,896
    "Huge": (12, 8, 256, 256, 8, 1500),  # 9,608,704
    "Massive": (14, 12, 384, 256, 4, 1000),  # 25,039,872
    "Mega": (14, 12, 384, 512, 2, 800),  # 25,138,176
    "Behemoth": (24, 20, 1280, 512, 1, 50),  # 473,244,160
}
_COLUMNS = ("n_layer", "n_head", "n_embd", "block_size", "batch_size", "steps")

PRESETS: dict[str, RunConfig] = {
    name: BASE.replace(**dict(zip(_COLUMNS, row, strict=True)))
    for name, row in _LADDER.items()
}


def preset(name: object) -> RunConfig:
    """Return a preset by name.

    Raises:
        ConfigError: there is no such preset.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"preset: got {name!r}, wanted {', '.join(PRESETS)}")
    return PRESETS[name]
