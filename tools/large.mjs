// Creates a large model in a tab on the CPU engine, trains a few steps and samples; prints
// times, losses, and peak memory beside the plan's. Too long for the tests.
// A token of a short text is a row, and one of a text past block_size a whole window; these
// and a text of a twelfth of a window, none of it known, take turns, and the least times of
// some rounds are printed.
// Build dist/, then: node tools/large.mjs [PRESET [STEPS [CONFIG]]]
// CONFIG is JSON of settings that differ from the preset's.
import { readdirSync, readFileSync } from "node:fs";
import { chromium } from "@playwright/test";
import config from "../playwright.config.js";
import { serve } from "../tests/e2e/servers.js";

const [preset = "Behemoth", steps = "3", settings = "{}"] = process.argv.slice(2);
const LIMIT_MS = 3_600_000;
const PROMPT = "ROMEO:";
const ROUNDS = 5;
const [ROWS, WINDOWS] = [16, 2]; // tokens a round

/** @param {string} path */
function readOrEmpty(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") {
      return ""; // the process has ended
    }
    throw error;
  }
}

/**
 * @param {number} root
 * @returns {number} the most memory that a descendant ever had, in bytes
 */
function peakBytes(root) {
  const rows = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readOrEmpty(`/proc/${name}/status`))
    .map((text) => ({
      pid: Number(/^Pid:\s+(\d+)/m.exec(text)?.[1]),
      parent: Number(/^PPid:\s+(\d+)/m.exec(text)?.[1]),
      bytes: 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(text)?.[1] ?? 0),
    }));
  const family = new Set([root]);
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const { pid, parent } of rows) {
      if (family.has(parent)) {
        family.add(pid);
      }
    }
  }
  const sizes = rows.filter(({ pid }) => family.has(pid)).map(({ bytes }) => bytes);
  return Math.max(...sizes);
}

const site = await serve([]);
const launchOptions = config.projects?.[0].use?.launchOptions;
const server = await chromium.launchServer({ headless: true, ...launchOptions });
const browser = await chromium.connect(server.wsEndpoint());
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  await page.goto(site.url);
  const found = await page.evaluate(
    async ({ request, prompt, rounds, rows, windows }) => {
      const { tabgrad } = /** @type {any} */ (globalThis);
      await tabgrad.ready;
      const plan = await tabgrad.plan(request);
      const start = performance.now();
      const run = await tabgrad.train({ ...request, backend: "wasm" });
      const train_ms = performance.now() - start;
      const shape = plan.tensors.find((/** @type {any} */ t) => t.name === "io.prompt");
      const long = prompt.repeat(shape.shape[0]);
      const twelfth = Math.max(1, Math.floor(shape.shape[0] / 12));
      const ms = { row: Infinity, window: Infinity, twelfth: Infinity };
      let text = "";
      for (let round = 0; round < rounds; round++) {
        const sample = await tabgrad.sample({ prompt, max_tokens: rows });
        const past = await tabgrad.sample({ prompt: long, max_tokens: windows });
        ms.row = Math.min(ms.row, 1000 / sample.tokens_per_s);
        ms.window = Math.min(ms.window, 1000 / past.tokens_per_s);
        text = sample.text;
        const fresh = performance.now();
        await tabgrad.logits({ text: String(round).repeat(twelfth) });
        ms.twelfth = Math.min(ms.twelfth, performance.now() - fresh);
      }
      return { plan, run, text, ms, train_ms };
    },
    {
      request: {
        preset,
        config: JSON.parse(settings),
        steps: Number(steps),
        eval_every: 0,
      },
      prompt: PROMPT,
      rounds: ROUNDS,
      rows: ROWS,
      windows: WINDOWS,
    },
  );
  const { plan, run, text, ms, train_ms } = found;
  const stepping_ms = run.first_step_ms + (Number(steps) - 1) * run.ms_per_step.median;
  const peak = peakBytes(Number(server.process().pid));
  const lines = {
    adapter: run.adapter,
    n_params: plan.n_params,
    plan_bytes: plan.bytes,
    peak_bytes: peak,
    created_s: (train_ms - stepping_ms) / 1000,
    first_step_s: run.first_step_ms / 1000,
    step_s: run.ms_per_step.median / 1000,
    losses: run.losses,
    sample: text,
    row_token_ms: ms.row,
    window_token_ms: ms.window,
    twelfth_of_a_window_ms: ms.twelfth,
  };
  process.stdout.write(`${JSON.stringify(lines, null, 1)}\n`);
} finally {
  await browser.close();
  await server.close();
  site.stop();
}
