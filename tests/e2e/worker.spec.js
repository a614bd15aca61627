// The engine's worker ends: the page says so, keeps the losses and starts another.
import { expect, test } from "@playwright/test";
import { openReadyTab, reaches, stepCount } from "./tab.js";

/** @typedef {import("@playwright/test").Page} Page */

/** @param {Page} page */
function worker(page) {
  const found = page.workers().find((each) => each.url().endsWith("js/worker.js"));
  if (!found) {
    throw new Error("the engine's worker is not there");
  }
  return found;
}

const ENDS = {
  "is gone": () => self.close(),
  "failed: Uncaught RangeError: out of memory": () => {
    setTimeout(() => {
      throw new RangeError("out of memory");
    });
  },
};

for (const [what, end] of Object.entries(ENDS)) {
  test(`a worker that ${what} ends the run in words, and another starts`, async ({
    browser,
  }) => {
    const { page } = await openReadyTab(browser);
    await page.evaluate(() => {
      const request = { preset: "Nano", backend: "wasm", steps: 1e7, eval_every: 0 };
      const run = window.tabgrad.train(request).catch((/** @type {any} */ error) => ({
        code: error.code,
        kept: error.kept,
        losses: error.losses,
      }));
      Object.assign(window, { run });
    });
    await expect.poll(() => stepCount(page), { timeout: 60_000 }).toBeGreaterThan(3);
    const ended = worker(page).evaluate(end);
    const fault = await page.evaluate(() => /** @type {any} */ (window).run);
    await ended.catch(() => undefined); // a worker that closes may not answer
    expect(fault.code).toBe("TAB-WORKER");
    expect(fault.losses.length).toBeGreaterThan(3);
    expect(fault.kept).toContain("Kept: the losses");
    await expect(page.locator(".alert")).toContainText(what);
    await expect(page.locator("#loading")).toBeVisible();
    expect(await stepCount(page)).toBe(fault.losses.length);
    const losses = await page.evaluate(async () => {
      const request = { preset: "Nano", backend: "wasm", steps: 3 };
      return (await window.tabgrad.train(request)).losses;
    });
    expect(losses).toHaveLength(3);
    await page.close();
  });
}

test("an idle worker that is gone is replaced, too", async ({ browser }) => {
  const { page } = await openReadyTab(browser);
  const ended = worker(page).evaluate(() => self.close());
  await expect(page.locator(".alert")).toContainText("is gone");
  await ended.catch(() => undefined);
  await reaches(page, "idle");
  await page.close();
});
