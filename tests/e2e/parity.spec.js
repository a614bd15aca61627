// One run, three machines: from one seed, WASM and WebGPU give numpy's losses and
// gradient norms, to 1e-5 relative at step 1 and 1e-4 at step 50.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "@playwright/test";
import { noteWebgpuRun } from "./webgpu_ran.js";

const STEPS = 50;
const BAR_FIRST = 1e-5;
const BAR_LAST = 1e-4;
const ALWAYS = ["Nano", "Tiny", "Small"];
const FULL = ["Medium", "Large", "XL"];

const run = promisify(execFile);

/**
 * @param {string} preset
 * @returns {Promise<{losses: number[], grad_norms: number[]}>}
 */
async function numpyRun(preset) {
  const words = ["-m", "tests.parity.numpy_losses", preset, "--steps", `${STEPS}`];
  const { stdout } = await run("python3", words, {
    env: { ...process.env, PYTHONPATH: "py:." },
  });
  return JSON.parse(stdout)[preset];
}

/**
 * @param {number[]} got
 * @param {number[]} wanted
 * @returns {number[]} |got / wanted - 1| of each step
 */
function relative(got, wanted) {
  return got.map((value, i) => Math.abs(value / wanted[i] - 1));
}

test.describe.configure({ mode: "default" });

/** @type {import("@playwright/test").Page} */
let page;

test.beforeAll(async ({ browser }) => {
  page = await browser.newPage();
  await page.goto("/");
  await page.evaluate(() => window.tabgrad.ready);
});

test.afterAll(() => page.close());

for (const preset of [...ALWAYS, ...FULL]) {
  const tag = FULL.includes(preset) ? { tag: "@full" } : {};
  for (const backend of ["wasm", "webgpu"]) {
    test(`${preset} on ${backend} gives numpy's losses`, tag, async () => {
      test.setTimeout(FULL.includes(preset) ? 7_200_000 : 600_000);
      const wanted = await numpyRun(preset);
      const got = await page.evaluate((request) => window.tabgrad.train(request), {
        preset,
        backend,
        steps: STEPS,
        eval_every: 0,
      });
      expect(got.backend).toBe(backend);
      for (const series of /** @type {const} */ (["losses", "grad_norms"])) {
        expect(got[series]).toHaveLength(STEPS);
        const errors = relative(got[series], wanted[series]);
        const worst = Math.max(...errors).toExponential(1);
        const first = errors[0].toExponential(1);
        const last = errors[STEPS - 1].toExponential(1);
        process.stdout.write(
          `${preset} ${backend} ${series}: ${first} to ${last}, worst ${worst}\n`,
        );
        expect(errors[0], `${series} at step 1`).toBeLessThanOrEqual(BAR_FIRST);
        expect(Math.max(...errors), `${series} to step 50`).toBeLessThanOrEqual(
          BAR_LAST,
        );
      }
      if (backend === "webgpu") {
        noteWebgpuRun(`parity of ${preset}`, got.adapter);
      }
    });
  }
}
