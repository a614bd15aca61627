// Training on the CPU engine where the page is hidden or cores are slow: nothing changes
// but the time that it takes.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { expect, test } from "@playwright/test";
import { openWindow } from "./real_window.js";
import { openReadyTab } from "./tab.js";

const STEPS = 60;
const HIDDEN_STEPS = 250; // so many that a fast machine has not done them before the tab is hidden
const REQUEST = {
  preset: "Small",
  backend: "wasm",
  threads: 2,
  steps: STEPS,
  eval_every: 0,
};

/** @param {object} request */
async function train(request) {
  await window.tabgrad.ready;
  const { losses, adapter } = await window.tabgrad.train(request);
  return { losses, adapter };
}

test("a hidden tab trains on, to the same losses", async ({ browser, baseURL }) => {
  const request = { ...REQUEST, steps: HIDDEN_STEPS };
  const shown = await openWindow(browser);
  const tab = await shown.open(String(baseURL));
  const visibility = () => tab.evaluate(() => document.visibilityState, null);
  const wanted = await tab.evaluate(train, request);
  expect(wanted.losses).toHaveLength(HIDDEN_STEPS);
  expect(wanted.adapter).toContain("2 threads");

  await tab.evaluate((wish) => {
    const seen = /** @type {string[]} */ ([]);
    document.addEventListener("visibilitychange", () => {
      seen.push(document.visibilityState);
    });
    const run = window.tabgrad.train(wish);
    Object.assign(window, { seen, run });
  }, request);
  const step = () =>
    tab.evaluate(() => Number(document.querySelector("#step")?.textContent), null);
  await expect.poll(step).toBeLessThan(HIDDEN_STEPS); // the run before is gone from the page
  await expect.poll(step).toBeGreaterThan(2);
  expect(await visibility()).toBe("visible");
  const other = await shown.open("about:blank");
  await other.show();
  await expect.poll(visibility).toBe("hidden");
  expect(await step()).toBeLessThan(HIDDEN_STEPS - 10);
  await expect.poll(step, { timeout: 90_000 }).toBe(HIDDEN_STEPS);
  const got = await tab.evaluate(async () => {
    const { seen, run } = /** @type {any} */ (window);
    const { losses } = await run;
    return { losses, seen };
  }, null);
  expect(got.seen).toEqual(["hidden"]);
  expect(got.losses).toEqual(wanted.losses);
  await shown.close();
});

test("slow cores train to the same losses", async ({ browser }) => {
  const { page } = await openReadyTab(browser);
  const wanted = await page.evaluate(train, REQUEST);
  expect(wanted.losses).toHaveLength(STEPS);

  const cdp = await page.context().newCDPSession(page); // slows the page's own thread
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  const beside = Array.from(
    { length: availableParallelism() },
    () => new Worker("for (;;);", { eval: true }),
  );
  try {
    const got = await page.evaluate(train, REQUEST);
    expect(got.adapter).toBe(wanted.adapter);
    expect(got.losses).toEqual(wanted.losses);
  } finally {
    await Promise.all(beside.map((each) => each.terminate()));
  }
  await page.close();
});
