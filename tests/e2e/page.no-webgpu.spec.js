// A browser without WebGPU: the page says why, trains on WASM, and offers no dead end.
import { expect, test } from "@playwright/test";
import { button, openReadyTab, reaches, rejection, setUp } from "./tab.js";

test("WASM runs, and the badge says why WebGPU does not", async ({ browser }) => {
  const { page, complaints } = await openReadyTab(browser);
  await expect(page.getByTestId("backend")).toHaveText("WASM");
  await page.getByText("Why this one").click();
  await expect(page.locator('[data-backend="webgpu"]')).toContainText(
    /no GPU adapter|no WebGPU/,
  );
  const facts = await page.evaluate(() => window.tabgrad.ready);
  expect(facts.backends).toEqual(["wasm", "numpy"]);
  expect(facts.adapter).toBeNull();
  await setUp(page, { steps: 20, evalEvery: 0 });
  await button(page, "Train").click();
  await reaches(page, "idle");
  await expect(page.getByTestId("step")).toHaveText("20");
  const fault = await rejection(page, "train", { preset: "Nano", backend: "webgpu" });
  expect(fault.code).toBe("TAB-BACKEND");
  expect(fault.message).toContain("the backend webgpu cannot be used");
  expect(complaints).toEqual([]);
  await page.close();
});
