// A whole run in the tab ends where PyTorch's does. What both gave is kept in build/.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "@playwright/test";
import { openReadyTab } from "./tab.js";

const PRESET = "Small";
const STEPS = 1500;
const BAR = 0.005; // of the held-out loss at the end
const MAX_BYTES = 1 << 24;
const PROMPT = {
  prompt: "ROMEO:",
  max_tokens: 400,
  temperature: 0.8,
  top_k: 40,
  seed: 1,
};

test(`${PRESET}'s ${STEPS} steps end where PyTorch's do`, { tag: "@full" }, async ({
  browser,
}) => {
  test.setTimeout(3_600_000);
  const words = ["-m", "tests.parity.torch_run", PRESET];
  const env = { ...process.env, PYTHONPATH: "py:." };
  const options = { env, maxBuffer: MAX_BYTES };
  const { stdout } = await promisify(execFile)("python3", words, options);
  const torch = JSON.parse(stdout);
  const { page, complaints } = await openReadyTab(browser);
  const tab = await page.evaluate(
    (preset) => window.tabgrad.train({ preset, backend: "wasm" }),
    PRESET,
  );
  const sample = await page.evaluate((wanted) => window.tabgrad.sample(wanted), PROMPT);
  await page.close();
  mkdirSync("build/parity", { recursive: true });
  const kept = JSON.stringify({ preset: PRESET, tab, torch, prompt: PROMPT, sample });
  writeFileSync("build/parity/whole-run.json", kept);
  expect(complaints).toEqual([]);
  expect(tab.losses).toHaveLength(STEPS);
  expect(tab.val_steps).toEqual(torch.val_steps);
  const last = tab.val_losses.at(-1);
  const wanted = torch.val_losses.at(-1);
  expect(Math.abs(last / wanted - 1), `${last}, PyTorch ${wanted}`).toBeLessThan(BAR);
  expect(last).toBeLessThan(0.5 * Math.log(256));
});
