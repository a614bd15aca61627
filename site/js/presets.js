// The presets, for a form that works before Python has loaded. A test holds this table
// to py/tabgrad/presets.py; `bytes` is what the plan on TinyShakespeare allocates.

/**
 * @typedef {{
 *   n_layer: number, n_head: number, n_embd: number, block_size: number,
 *   batch_size: number, steps: number, n_params: number, bytes: number
 * }} Preset
 */

export const DEFAULT_PRESET = "Small";

/** What every preset shares. */
export const DEFAULTS = {
  lr: 0.0003,
  schedule: "constant",
  warmup_steps: 0,
  min_lr: 0,
  weight_decay: 0.1,
  grad_clip: 1,
  seed: 1337,
  eval_every: 100,
};

/** @type {Record<string, Preset>} */
// biome-ignore format: one preset a line, as JSON that the test reads
export const PRESETS = {
  "Nano": {"n_layer": 1, "n_head": 1, "n_embd": 32, "block_size": 16, "batch_size": 8, "steps": 200, "n_params": 21472, "bytes": 5396992},
  "Tiny": {"n_layer": 2, "n_head": 3, "n_embd": 48, "block_size": 32, "batch_size": 16, "steps": 2000, "n_params": 70464, "bytes": 10067456},
  "Small": {"n_layer": 3, "n_head": 3, "n_embd": 96, "block_size": 64, "batch_size": 16, "steps": 1500, "n_params": 366432, "bytes": 32801280},
  "Medium": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 96, "batch_size": 16, "steps": 1000, "n_params": 838400, "bytes": 74835712},
  "Large": {"n_layer": 6, "n_head": 6, "n_embd": 192, "block_size": 128, "batch_size": 12, "steps": 600, "n_params": 2743296, "bytes": 170791680},
  "XL": {"n_layer": 8, "n_head": 8, "n_embd": 256, "block_size": 128, "batch_size": 8, "steps": 400, "n_params": 6416896, "bytes": 249243392},
  "Huge": {"n_layer": 12, "n_head": 8, "n_embd": 256, "block_size": 256, "batch_size": 8, "steps": 1500, "n_params": 9608704, "bytes": 577026304},
  "Massive": {"n_layer": 14, "n_head": 12, "n_embd": 384, "block_size": 256, "batch_size": 4, "steps": 1000, "n_params": 25039872, "bytes": 769115392},
  "Mega": {"n_layer": 14, "n_head": 12, "n_embd": 384, "block_size": 512, "batch_size": 2, "steps": 800, "n_params": 25138176, "bytes": 770950912},
  "Behemoth": {"n_layer": 24, "n_head": 20, "n_embd": 1280, "block_size": 512, "batch_size": 1, "steps": 50, "n_params": 473244160, "bytes": 8600976896}
};
