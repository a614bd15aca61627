// Access: axe in both themes and several states, 320 px, the keyboard, announcements.
import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import { button, openReadyTab, openTab, reaches, setUp, stepCount } from "./tab.js";

/**
 * @param {import("@playwright/test").Page} page
 * @param {string} where
 */
async function expectNoFaults(page, where) {
  // @ts-expect-error: the package's types are of another copy of Playwright
  const { violations } = await new AxeBuilder({ page }).analyze();
  const grave = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  expect(grave, where).toEqual([]);
}

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`axe finds nothing serious in the ${colorScheme} theme`, async ({ browser }) => {
    const { page } = await openTab(browser, { colorScheme });
    await expectNoFaults(page, "booting");
    await page.evaluate(() => window.tabgrad.ready);
    await reaches(page, "idle");
    await page.getByText("Why this one").click();
    await page.getByText("Advanced").click();
    await page.getByText("Numbers as a table").click();
    await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 50 });
    await page.getByLabel("Heads").fill("5");
    await expect(page.locator("#fault-n_embd")).toBeVisible();
    await expectNoFaults(page, "a field at fault");
    await page.getByRole("button", { name: "Undo" }).click();
    await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 50 });
    await button(page, "Train").click();
    await expect.poll(() => stepCount(page)).toBeGreaterThan(60);
    await expectNoFaults(page, "training");
    await button(page, "Pause").click();
    await reaches(page, "paused");
    await expectNoFaults(page, "paused");
    await button(page, "Stop").click();
    await page.evaluate(() =>
      window.tabgrad.train({ preset: "Gigantic" }).catch(() => "refused"),
    );
    await expectNoFaults(page, "an error");
    await page.close();
  });
}

test("at 320 px nothing is cut off sideways", async ({ browser }) => {
  const viewport = { width: 320, height: 700 };
  const { page } = await openReadyTab(browser, { viewport });
  await page.getByText("Advanced").click();
  await page.getByText("Why this one").click();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(320);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, textarea, summary")]
      .map((control) => ({ id: control.id, box: control.getBoundingClientRect() }))
      .filter(({ box }) => box.height > 0 && (box.height < 24 || box.width < 24))
      .map(({ id }) => id),
  );
  expect(small).toEqual([]);
  await page.close();
});

test("the keyboard alone trains, pauses and stops", async ({ browser }) => {
  const { page } = await openReadyTab(browser);
  await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 0 });
  await button(page, "Train").focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => stepCount(page)).toBeGreaterThan(2);
  await page.keyboard.press("Tab");
  await expect(button(page, "Pause")).toBeFocused();
  await page.keyboard.press("Space");
  await reaches(page, "paused");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await expect(button(page, "Stop")).toBeFocused();
  await page.keyboard.press("Enter");
  await reaches(page, "idle");
  await page.close();
});

test("a screen reader hears of a run at most every ten seconds", async ({
  browser,
}) => {
  const { page } = await openReadyTab(browser);
  await page.evaluate(() => {
    const heard = /** @type {string[]} */ ([]);
    const region = /** @type {HTMLElement} */ (document.querySelector("#announcer"));
    new MutationObserver(() => heard.push(region.textContent ?? "")).observe(region, {
      childList: true,
    });
    Object.assign(window, { heard });
  });
  await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 0 });
  await button(page, "Train").click();
  await page.waitForTimeout(12_000);
  const heard = await page.evaluate(() => /** @type {any} */ (window).heard);
  expect(heard[0]).toContain("Training");
  expect(heard[1]).toMatch(/^Step \d+, loss \d\.\d\d$/);
  expect(heard.length).toBeLessThanOrEqual(2);
  await page.close();
});
