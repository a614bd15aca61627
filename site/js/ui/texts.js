// Every sentence of the page that is not in index.html.

/** @import { State } from "../store.js" */

/** @type {Record<State, string>} */
export const STATE = {
  booting: "Booting",
  idle: "Idle",
  training: "Training",
  pausing: "Pausing",
  paused: "Paused",
  stopping: "Stopping",
  error: "Error",
};

/** @type {Record<string, string>} */
export const BACKEND = { webgpu: "WebGPU", wasm: "WASM", numpy: "numpy", auto: "auto" };

export const STAGE = {
  fetching: "Fetching the Python runtime",
  python: "Starting Python",
  package: "Installing tabgrad",
  backends: "Looking for backends",
};

/** @type {[RegExp, string][]} */
export const FILES = [
  [/pyodide\.asm\.wasm$/, "Python runtime"],
  [/pyodide\.asm\.mjs$/, "Python runtime, script"],
  [/pyodide\.mjs$/, "Python loader"],
  [/python_stdlib/, "Python standard library"],
  [/pyodide-lock/, "List of Python packages"],
  [/\/numpy-/, "numpy"],
  [/\/micropip-/, "micropip"],
  [/\/packaging-/, "packaging"],
  [/engine\/engine/, "CPU engine"],
  [/tabgrad-.*\.whl$/, "tabgrad"],
  [/tinyshakespeare/, "TinyShakespeare"],
];

export const WHY_NOT = {
  run: "A run is under way.",
  noRun: "No run is under way.",
  queued: "The run begins as soon as the engine has loaded.",
  pausing: "The steps under way are being finished.",
  stopping: "The run is being stopped.",
  loading: "The engine is still loading.",
  bootFailed: "The engine did not load.",
  benchmark: "A benchmark is under way.",
  sampling: "A sample is being written.",
  noSample: "No sample is being written.",
  noBenchmark: "No benchmark is under way.",
  training: "Pause or stop the run first.",
};

export const HINT = {
  train: "Starts a new run",
  go: "Goes on with the paused run",
  pause: "Pauses after the step under way",
  step: "Takes exactly one step, then pauses",
  stop: "Ends the run; the model stays for sampling",
};

export const DETAIL = {
  booting: "The engine is loading; you can set up a run meanwhile.",
  queued: "The run begins as soon as the engine has loaded.",
  idle: "Ready.",
  preparing: "Preparing the model",
  paused: "Train goes on, Step takes one step.",
  stopping: "Finishing the steps under way.",
  error: "The run ended with an error, shown above.",
};

/** @param {{isolated: boolean, threads: number, found: Record<string, object>}} facts */
export function isolation({ isolated, threads, found }) {
  const count = threads === 1 ? "one thread" : `${threads} threads`;
  const engine = found.wasm ? `: the CPU engine has ${count}` : "";
  return isolated
    ? `The page is cross-origin isolated${engine}.`
    : "The page is not cross-origin isolated (the server sends no COOP and COEP " +
        `headers)${engine}.`;
}

/** @param {string} file */
export function stalled(file) {
  return (
    `${file} made no progress for 20 s. Check the connection and whether an extension ` +
    "blocks it, then press Retry; loading goes on by itself if it can"
  );
}

/**
 * @param {string} reason
 * @returns {string} one sentence about what holds Train back
 */
export function cannotTrain(reason) {
  return `Train waits: ${reason}.`;
}

export const BINARY_FILE =
  "this file looks binary (it holds NUL characters); choose a plain text file";
export const NOT_UTF8 =
  "more than 0.1 % of this file is not UTF-8 text; save it as UTF-8 and choose it again";
/** @param {string} size */
export const tooLarge = (size) => `the file has ${size}; the most is 100 MB`;

export const COPIED = "Copied.";
export const NO_CLIPBOARD =
  "Not copied: the browser lends its clipboard only to pages over https or on localhost.";
/** @param {string} reason */
export const notCopied = (reason) => `Not copied: the browser refused: ${reason}`;
export const TUNES_ANEW = "Forgotten; the next run on WebGPU tunes anew.";

/**
 * @param {{why: string, rows: object[], seconds: number, not_kept: string}} report
 * @returns {string}
 */
export function kernels({ why, rows, seconds, not_kept }) {
  if (why) {
    return `Not tuned: ${why}.`;
  }
  if (rows.length === 0) {
    return "Nothing is tuned yet: the first run on WebGPU does it.";
  }
  const took = seconds > 0.1 ? ` Tuning took ${seconds.toFixed(1)} s.` : "";
  const kept = not_kept ? ` ${not_kept}.` : "";
  return `The fastest right kernel of each call on this device.${took}${kept}`;
}
