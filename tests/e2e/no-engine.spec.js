// A page that was built where there is no Emscripten.
import { expect, test } from "@playwright/test";
import { openReadyTab } from "./tab.js";

test("without its CPU engine the page says how to get it, and trains", async ({
  browser,
}) => {
  const engine_missing = { reason: "no emcc found", remedy: "install Emscripten" };
  const { page, complaints } = await openReadyTab(browser, {
    before: (tab) =>
      tab.context().route("**/build.json", async (route) => {
        const response = await route.fetch();
        const json = { ...(await response.json()), engines: {}, engine_missing };
        await route.fulfill({ response, json });
      }),
  });
  await expect(page.getByTestId("backend")).toHaveText("numpy");
  await expect(page.locator("#refused [data-backend=wasm]")).toContainText(
    "this build has no CPU engine: no emcc found; install Emscripten",
  );
  await expect(page.locator("#isolation")).toHaveText(
    "The page is cross-origin isolated.",
  );
  const losses = await page.evaluate(async () => {
    return (await window.tabgrad.train({ preset: "Nano", steps: 2 })).losses;
  });
  expect(losses).toHaveLength(2);
  expect(complaints).toEqual([]);
  await page.close();
});
