// The page under a sub-path, as project pages on static hosts are.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";
import { serve } from "./servers.js";
import { openReadyTab } from "./tab.js";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

test("everything loads and trains below /dist/", async ({ browser }) => {
  const server = await serve(["--folder", ROOT]);
  try {
    const { page, complaints } = await openReadyTab(browser, {
      path: `${server.url}dist/`,
    });
    const losses = await page.evaluate(async () => {
      const request = { preset: "Nano", backend: "wasm", steps: 5 };
      return (await window.tabgrad.train(request)).losses;
    });
    expect(losses).toHaveLength(5);
    expect(complaints).toEqual([]);
    await page.close();
  } finally {
    server.stop();
  }
});
