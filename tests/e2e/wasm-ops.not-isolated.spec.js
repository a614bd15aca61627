import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { openWorker } from "./fixtures/python_worker.js";

test("without cross-origin isolation the engine trains on one thread", async ({
  page,
  baseURL,
}) => {
  const python = await openWorker(page, String(baseURL), "wasm");
  expect(await page.evaluate(() => self.crossOriginIsolated)).toBe(false);
  await python(
    readFileSync(new URL("fixtures/wasm_driver.py", import.meta.url), "utf8"),
  );
  const got = JSON.parse(await python('await train("Nano", 20, 8)'));
  expect(got.adapter).toMatch(/^WASM 32-bit, 1 thread, FMA, (4x8|6x8|4x16) tiles$/);
  expect(got.losses).toHaveLength(20);
  expect(got.losses[19]).toBeLessThan(got.losses[0]);
});
