// The server of the not-isolated tests really leaves the headers out.
import { expect, test } from "@playwright/test";

test("the page is not cross-origin isolated", async ({ page }) => {
  await page.goto("build.json");
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
});
