// Loading: progress in bytes, a run asked for early, a file that does not come.
import { expect, test } from "@playwright/test";
import { button, openReadyTab, openTab, reaches, ready, setUp } from "./tab.js";

test("a run asked for while Python loads begins by itself", async ({ browser }) => {
  /** @type {() => void} */
  let letGo = () => undefined;
  const held = new Promise((resolve) => {
    letGo = () => resolve(undefined);
  });
  const { page, complaints } = await openTab(browser, {
    before: (tab) =>
      tab.context().route("**/tabgrad-*.whl", async (route) => {
        await held;
        await route.continue();
      }),
  });
  await reaches(page, "booting");
  await setUp(page, { backend: "numpy", steps: 10 });
  await expect(page.locator("#plan-params")).toHaveText("21,472");
  await button(page, "Train").click();
  await expect(page.locator("#status-detail")).toContainText("as soon as the engine");
  await expect(button(page, "Train")).toBeDisabled();
  letGo();
  await expect(page.getByTestId("step")).toHaveText("10", { timeout: 90_000 });
  await reaches(page, "idle");
  expect(complaints).toEqual([]);
  await page.close();
});

test("the bar counts bytes of every file and then leaves", async ({ browser }) => {
  const { page } = await openTab(browser, {
    before: (tab) =>
      tab.addInitScript(() => {
        /** @type {number[]} */
        const seen = [];
        Object.assign(window, { seen });
        new MutationObserver(() => {
          const bar = document.querySelector("[role=progressbar]");
          seen.push(Number(bar?.getAttribute("aria-valuenow")));
        }).observe(document, {
          subtree: true,
          attributes: true,
          attributeFilter: ["aria-valuenow"],
        });
      }),
  });
  const bar = page.getByRole("progressbar");
  await expect(bar).toHaveAttribute("aria-valuemax", "100");
  await page.getByText("Files", { exact: true }).click();
  await expect(page.locator("#loading-files")).toContainText("Python runtime");
  await ready(page);
  await expect(bar).toBeHidden();
  const seen = await page.evaluate(() => /** @type {any} */ (window).seen);
  expect(Math.max(...seen)).toBe(100);
  expect(new Set(seen).size).toBeGreaterThan(5);
  const sizes = page.locator("#loading-files .done");
  expect(await sizes.count()).toBe(await page.locator("#loading-files li").count());
  await page.close();
});

for (const file of [
  "pyodide/pyodide.mjs",
  "pyodide/pyodide.asm.wasm",
  "pyodide/python_stdlib.zip",
  "pyodide/pyodide-lock.json",
  "corpora/tinyshakespeare.txt",
  "build.json",
]) {
  test(`without ${file} the page names it, and Retry heals`, async ({ browser }) => {
    let isGone = true;
    const { page } = await openTab(browser, {
      before: (tab) =>
        tab
          .context()
          .route(`**/${file}`, (route) =>
            isGone ? route.fulfill({ status: 404, body: "gone" }) : route.continue(),
          ),
    });
    const fault = page.locator("#loading-fault");
    await expect(fault).toContainText(file, { timeout: 20_000 });
    await expect(fault).toContainText("Retry");
    isGone = false;
    await button(page, "Retry").click();
    await ready(page);
    await expect(fault).toBeHidden();
    await page.close();
  });
}

test("a file that stalls is named after 20 s", async ({ browser }) => {
  const { page } = await openTab(browser, {
    before: (tab) =>
      tab
        .context()
        .route("**/pyodide/python_stdlib.zip", () => new Promise(() => undefined)),
  });
  await expect(page.locator("#loading-fault")).toContainText(
    "python_stdlib.zip made no progress for 20 s",
    { timeout: 60_000 },
  );
  await page.close();
});

test("of six engines the one that is needed is fetched, and none is large", async ({
  browser,
}) => {
  /** @type {string[]} */
  const fetched = [];
  const { page } = await openReadyTab(browser, {
    before: (tab) => {
      tab.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (pathname.includes("/engine/")) {
          fetched.push(pathname.replace(/.*\//, ""));
        }
      });
      return Promise.resolve();
    },
  });
  await page.evaluate(() =>
    window.tabgrad.train({ preset: "Nano", backend: "wasm", steps: 2 }),
  );
  expect(new Set(fetched)).toEqual(new Set(["engine32fma.mjs", "engine32fma.wasm"]));
  const sizes = await page.evaluate(async () => {
    const { bytes } = await (await fetch("build.json")).json();
    const all = Object.entries(bytes);
    return Object.fromEntries(all.filter(([file]) => /^engine.*wasm$/.test(file)));
  });
  expect(Object.keys(sizes)).toHaveLength(6);
  for (const [file, size] of Object.entries(sizes)) {
    expect(size, file).toBeLessThanOrEqual(200_000);
  }
  await page.close();
});
