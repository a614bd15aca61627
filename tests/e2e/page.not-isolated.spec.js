// A host without COOP and COEP: one thread, and everything works.
import { expect, test } from "@playwright/test";
import { openReadyTab } from "./tab.js";

test("the CPU engine runs on one thread, and says so", async ({ browser }) => {
  const { page, complaints } = await openReadyTab(browser);
  const got = await page.evaluate(async () => {
    const { isolated, threads } = await window.tabgrad.ready;
    const request = { preset: "Nano", backend: "wasm", steps: 10 };
    const { losses, adapter } = await window.tabgrad.train(request);
    return { isolated, threads, losses, adapter };
  });
  expect(got).toMatchObject({ isolated: false, threads: 1 });
  expect(got.adapter).toContain("1 thread");
  expect(got.losses).toHaveLength(10);
  await page.getByText("Why this one").click();
  await expect(page.locator("#isolation")).toContainText("not cross-origin isolated");
  expect(complaints).toEqual([]);
  await page.close();
});
