// Kernels: tuned on a device, never for a software adapter, and forced by name.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { GpuPython } from "./gpu_python.js";
import { noteWebgpuRun } from "./webgpu_ran.js";

const DRIVER = new URL("./fixtures/tuner_driver.py", import.meta.url);

for (const where of ["in", "out of"]) {
  test(`with operands ${where} the cache the tuner refuses what is wrong`, async ({
    browser,
    baseURL,
  }) => {
    const python = await GpuPython.open(browser, baseURL);
    await python.run(readFileSync(DRIVER, "utf8"));
    const isCold = where === "in" ? "False" : "True";
    const { rows, same, kept, clock, key, adapter } = await python.json(
      `await tune_odd_rows(is_cold=${isCold})`,
    );
    await python.close();
    expect(clock, "SwiftShader has timestamps").toBe(true);
    expect(Object.keys(kept)).toContain(key);
    expect(rows.length).toBe(Object.keys(kept).length);
    const [, trained] = key.split("gelu_fwd ");
    expect(rows.map(({ sizes }) => sizes)).toContain(trained);
    for (const { op, sizes, row, ms, refused } of rows) {
      expect(op).toBe("gelu_fwd");
      if (sizes !== trained) {
        // of another program: the row that won, held to the base row
        expect(["base", "narrow", "wide"]).toContain(row);
        expect(Object.keys(ms).length).toBeLessThanOrEqual(2);
        expect(refused).toEqual({});
        continue;
      }
      expect(["base", "narrow", "wide"]).toContain(row);
      expect(Object.keys(ms).sort()).toEqual(["base", "narrow", "slow", "wide"]);
      expect(ms.slow).toBeGreaterThan(ms[row]);
      expect(Object.keys(refused).sort()).toEqual(["few", "huge"]);
      expect(refused.few).toMatch(/deviates from the base kernel: gelu_fwd .* y\[/);
      expect(refused.huge).toMatch(/gelu_fwd:huge/);
    }
    expect(same).toEqual(same.map(() => true));
    noteWebgpuRun(`${rows.length} calls tuned ${where} the cache`, adapter);
  });
}

test("the kernel that compares outputs does as its definition", async ({
  browser,
  baseURL,
}) => {
  const python = await GpuPython.open(browser, baseURL);
  await python.run(readFileSync(DRIVER, "utf8"));
  const { adapter, ...cases } = await python.json("await compare_outputs()");
  await python.close();
  expect(Object.keys(cases)).toHaveLength(8);
  for (const [name, same] of Object.entries(cases)) {
    expect(same, name).toEqual([true, true]);
  }
  noteWebgpuRun("outputs compared", adapter);
});

test("a software adapter is not tuned, and kernels can be forced", async ({ page }) => {
  await page.goto("/");
  const got = await page.evaluate(async () => {
    const { tabgrad } = window;
    await tabgrad.ready;
    const wanted = { preset: "Nano", backend: "webgpu", steps: 3, eval_every: 0 };
    const auto = await tabgrad.train(wanted);
    const report = await tabgrad.kernels();
    const base = await tabgrad.train({ ...wanted, kernels: "base" });
    const forced = await tabgrad.train({ ...wanted, kernels: { gelu_fwd: "base" } });
    const wrong = await tabgrad
      .train({ ...wanted, kernels: { gelu_fwd: "magic" } })
      .catch((/** @type {Error} */ error) => error.message);
    return { auto, base, forced, report, wrong };
  });
  expect(got.report.why).toMatch(/software adapter: it takes the base kernels/);
  expect(got.report.rows).toEqual([]);
  expect(got.base.losses).toEqual(got.auto.losses);
  expect(got.forced.losses).toEqual(got.auto.losses);
  expect(got.wrong).toMatch(/kernels: gelu_fwd got 'magic', wanted base/);
  await page.getByText("Kernels", { exact: true }).click();
  await expect(page.locator("#kernels-note")).toContainText("Not tuned: google swift");
  await expect(page.getByRole("button", { name: "Skip tuning" })).toBeHidden();
  await page.getByRole("button", { name: "Tune anew" }).click();
  await expect(page.locator("#kernels-note")).toContainText("the next run on WebGPU");
  noteWebgpuRun("training with forced kernels", got.auto.adapter);
});
