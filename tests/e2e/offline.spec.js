// The connection goes after the page has loaded.
import { expect, test } from "@playwright/test";
import { openReadyTab, ready, rejection } from "./tab.js";

test("offline the page trains with what it has, and says what the CPU engine lacks", async ({
  browser,
}) => {
  const { page } = await openReadyTab(browser);
  await page.context().setOffline(true);
  const losses = await page.evaluate(async () => {
    const request = { preset: "Nano", backend: "numpy", steps: 2 };
    return (await window.tabgrad.train(request)).losses;
  });
  expect(losses).toHaveLength(2);
  const fault = await rejection(page, "train", { preset: "Nano", backend: "wasm" });
  expect(fault.code).toBe("TAB-BACKEND");
  expect(fault.message).toContain("The CPU engine did not start");
  expect(fault.message).toContain("Check the connection and reload the page");
  await page.context().setOffline(false);
  await page.reload();
  await ready(page);
  const again = await page.evaluate(async () => {
    const request = { preset: "Nano", backend: "wasm", steps: 2 };
    return (await window.tabgrad.train(request)).losses;
  });
  expect(again).toHaveLength(2);
  await page.close();
});
