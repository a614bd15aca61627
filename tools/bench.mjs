// Trains one preset on each backend in one Chromium and prints a table.
// Run by `build.py bench`: bench.mjs PRESET STEPS THREADS ROW BACKEND...
// ROW is JSON of a row measured elsewhere, to stand last in the table, or nothing.
// Ends with status 1 when a backend did not train.
import { mkdirSync, writeFileSync } from "node:fs";
import { chromium } from "@playwright/test";
import config from "../playwright.config.js";
import { serve } from "../tests/e2e/servers.js";

const [preset, steps, threads, beside, ...backends] = process.argv.slice(2);
const COLUMNS = ["backend", "adapter", "ms/step", "min", "p90", "first ms", "tokens/s"];

/** @param {Record<string, any>} got what `tabgrad.train` gave */
function row(got) {
  const { median, min, p90 } = got.ms_per_step;
  const times = [median, min, p90, got.first_step_ms].map((ms) => ms.toFixed(2));
  const rate = Math.round(got.tokens_per_s).toString();
  return [got.backend, got.adapter ?? "-", ...times, rate];
}

const server = await serve([]);
const launchOptions = config.projects?.[0].use?.launchOptions;
const browser = await chromium.launch({ headless: true, ...launchOptions });
const rows = [COLUMNS];
const results = [];
try {
  const page = await browser.newPage();
  await page.goto(server.url);
  for (const backend of backends) {
    const got = await page.evaluate(
      async (wanted) => {
        const { tabgrad } = /** @type {any} */ (globalThis);
        await tabgrad.ready;
        return tabgrad.train(wanted).catch((/** @type {Error} */ e) => e.message);
      },
      { preset, backend, steps: Number(steps), threads: Number(threads), seed: 1 },
    );
    if (typeof got === "string") {
      process.stderr.write(`failed: ${backend}: ${got}\n`);
      process.exitCode = 1;
    } else {
      results.push(got);
      rows.push(row(got));
    }
  }
} finally {
  await browser.close();
  server.stop();
}
if (beside) {
  results.push(JSON.parse(beside));
  rows.push(row(results.at(-1)));
}
const widths = COLUMNS.map((_, i) => Math.max(...rows.map((cells) => cells[i].length)));
for (const cells of rows) {
  process.stdout.write(`${cells.map((c, i) => c.padEnd(widths[i])).join("  ")}\n`);
}
mkdirSync("build/bench", { recursive: true });
writeFileSync(`build/bench/${preset}.json`, `${JSON.stringify(results, null, 1)}\n`);
process.stdout.write(`written to build/bench/${preset}.json\n`);
