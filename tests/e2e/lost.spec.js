// The GPU device is lost under a run: the page says so, keeps the losses and goes on.
import { expect, test } from "@playwright/test";
import { openReadyTab, reaches, stepCount } from "./tab.js";

// Runs in the worker, before the engine asks for a device: its first one is lost when
// the page says so. (Crashing the browser's GPU process ends some browsers altogether.)
const LOSE_FIRST_DEVICE = `
const ask = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...given) {
  const device = await ask.apply(this, given);
  GPUAdapter.prototype.requestDevice = ask;
  new BroadcastChannel("lose").onmessage = () => device.destroy();
  return device;
};
`;

test("a lost device ends the run in words, and the next run starts", async ({
  browser,
}) => {
  const { page } = await openReadyTab(browser, {
    before: (tab) =>
      tab.context().route("**/js/gpu.js", async (route) => {
        const response = await route.fetch();
        const body = `${await response.text()}${LOSE_FIRST_DEVICE}`;
        await route.fulfill({ response, body });
      }),
  });
  await page.evaluate(() => {
    const request = { preset: "Nano", backend: "webgpu", steps: 1e6, eval_every: 0 };
    const run = window.tabgrad.train(request).catch((/** @type {any} */ error) => ({
      code: error.code,
      kept: error.kept,
      losses: error.losses,
    }));
    Object.assign(window, { run });
  });
  await expect.poll(() => stepCount(page), { timeout: 60_000 }).toBeGreaterThan(3);
  await page.evaluate(() => new BroadcastChannel("lose").postMessage("now"));
  await reaches(page, "error");
  const fault = await page.evaluate(() => /** @type {any} */ (window).run);
  expect(fault.code).toBe("TAB-BACKEND");
  expect(fault.losses.length).toBeGreaterThan(3);
  expect(fault.kept).toContain("Kept: the losses of the");
  await expect(page.locator(".alert")).toContainText(
    /device was lost \(\w+\): .*[^.]; it may be out of memory/,
  );
  for (const backend of ["wasm", "webgpu"]) {
    const losses = await page.evaluate(async (name) => {
      const request = { preset: "Nano", backend: name, steps: 3 };
      return (await window.tabgrad.train(request)).losses;
    }, backend);
    expect(losses, backend).toHaveLength(3);
  }
  await page.close();
});
