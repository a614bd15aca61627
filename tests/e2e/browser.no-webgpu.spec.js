// The browser of the no-webgpu tests really has none.
import { expect, test } from "@playwright/test";

test("there is no WebGPU adapter", async ({ page }) => {
  await page.goto("build.json");
  const adapter = await page.evaluate(async () => navigator.gpu?.requestAdapter());
  expect(adapter ?? null).toBeNull();
});
