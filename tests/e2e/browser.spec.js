// The browser that the other tests lean on has what they need.
import { expect, test } from "@playwright/test";

test("the page is cross-origin isolated and gets a WebGPU adapter", async ({
  page,
}) => {
  await page.goto("build.json");
  const got = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    return {
      isolated: crossOriginIsolated,
      vendor: adapter?.info.vendor,
      architecture: adapter?.info.architecture,
    };
  });
  expect(got).toEqual({
    isolated: true,
    vendor: "google",
    architecture: "swiftshader",
  });
});
