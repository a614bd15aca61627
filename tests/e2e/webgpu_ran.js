// Counts what ran on WebGPU. `build.py test` fails when the count is missing or 0:
// nothing may pass because nothing ran.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../../test-results/", import.meta.url);
const FILE = new URL("webgpu-ran.json", FOLDER);

/**
 * Note one run whose numbers came from WebGPU and were compared.
 *
 * @param {string} what what ran, for the reader
 * @param {string} adapter the adapter that it ran on
 */
export function noteWebgpuRun(what, adapter) {
  mkdirSync(FOLDER, { recursive: true });
  const runs = [...notedRuns(), { what, adapter }];
  writeFileSync(FILE, `${JSON.stringify({ ran: runs.length, runs }, null, 1)}\n`);
}

/** @returns {{what: string, adapter: string}[]} */
function notedRuns() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8")).runs;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") {
      return [];
    }
    throw error;
  }
}
