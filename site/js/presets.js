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

const COLUMNS = [
  "n_layer",
  "n_head",
  "n_embd",
  "block_size",
  "batch_size",
  "steps",
  "n_params",
  "bytes",
];

// biome-ignore format: one preset a line, in the order of the columns
const ROWS = {
  "Nano": [1, 1, 32, 16, 8, 200, 21472, 5281792],
  "Tiny": [2, 3, 48, 32, 16, 2000, 70464, 9639424],
  "Small": [3, 3, 96, 64, 16, 1500, 366432, 32141824],
  "Medium": [4, 4, 128, 96, 16, 1000, 838400, 74043136],
  "Large": [6, 6, 192, 128, 12, 600, 2743296, 170392320],
  "XL": [8, 8, 256, 128, 8, 400, 6416896, 249239296],
  "Huge": [12, 8, 256, 256, 8, 1500, 9608704, 577018112],
  "Massive": [14, 12, 384, 256, 4, 1000, 25039872, 769111296],
  "Mega": [14, 12, 384, 512, 2, 800, 25138176, 770946816],
  "Behemoth": [24, 20, 1280, 512, 1, 50, 473244160, 8600974848],
};

/** @type {Record<string, Preset>} */
export const PRESETS = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => [
    name,
    /** @type {any} */ (Object.fromEntries(row.map((n, i) => [COLUMNS[i], n]))),
  ]),
);
