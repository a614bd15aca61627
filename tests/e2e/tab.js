// A page that keeps book of everything that must never happen in it.
import { expect } from "@playwright/test";

/** @typedef {import("@playwright/test").Page} Page */

/**
 * Open the page and note console errors, uncaught errors, CSP violations and requests
 * to other hosts.
 *
 * @param {import("@playwright/test").Browser} browser
 * @param {{path?: string, viewport?: {width: number, height: number}, colorScheme?:
 *   "light" | "dark", before?: (page: Page) => Promise<void>}} [options]
 * @returns {Promise<{page: Page, complaints: string[]}>}
 */
export async function openTab(browser, options = {}) {
  const { path = "", before, ...settings } = options;
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  page.close = () => context.close(); // whoever closes the page waits for both
  /** @type {string[]} */
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error") {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error}`));
  await page.exposeFunction("noteViolation", (/** @type {string} */ what) => {
    complaints.push(`CSP: ${what}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => {
      // @ts-expect-error: exposed above
      window.noteViolation(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  await before?.(page);
  await page.goto(path || "/");
  const { host } = new URL(page.url());
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.host !== host) {
      complaints.push(`request to another host: ${url}`);
    }
  });
  return { page, complaints };
}

/**
 * Open the page and wait until the engine has loaded.
 *
 * @param {import("@playwright/test").Browser} browser
 * @param {Parameters<typeof openTab>[1]} [options]
 */
export async function openReadyTab(browser, options) {
  const tab = await openTab(browser, options);
  await ready(tab.page);
  return tab;
}

/** @param {Page} page */
export async function ready(page) {
  await page.evaluate(() => window.tabgrad.ready);
  await expect(state(page)).toHaveAttribute("data-state", "idle");
}

/** @param {Page} page */
export const state = (page) => page.getByTestId("status");

/**
 * @param {Page} page
 * @param {string} name
 */
export const button = (page, name) => page.getByRole("button", { name, exact: true });

/**
 * @param {Page} page
 * @param {string} wanted
 */
export async function reaches(page, wanted) {
  await expect(state(page)).toHaveAttribute("data-state", wanted);
}

/** @param {Page} page */
export async function stepCount(page) {
  return Number(await page.getByTestId("step").textContent());
}

/**
 * Set up a run in the form.
 *
 * @param {Page} page
 * @param {{preset?: string, backend?: string, steps?: number, evalEvery?: number}} run
 */
export async function setUp(page, { preset = "Nano", backend, steps, evalEvery }) {
  await page.getByLabel("Preset", { exact: true }).selectOption(preset);
  if (backend) {
    await page.getByLabel("Backend", { exact: true }).selectOption(backend);
  }
  if (steps !== undefined) {
    await page.getByLabel("Steps", { exact: true }).fill(String(steps));
  }
  if (evalEvery !== undefined) {
    await page.getByLabel("Evaluate every", { exact: true }).fill(String(evalEvery));
  }
}

/**
 * Run an asynchronous function of the page and return the error that it rejects with.
 *
 * @param {Page} page
 * @param {"train" | "sample" | "plan" | "benchmark" | "resume"} method
 * @param {object} request
 * @returns {Promise<{code: string, message: string, losses?: number[]}>}
 */
export function rejection(page, method, request) {
  return page.evaluate(
    async ([name, wanted]) => {
      try {
        // @ts-expect-error: the names are those of the API
        await window.tabgrad[name](wanted);
      } catch (error) {
        const { code, message, losses } = /** @type {any} */ (error);
        return { code, message, losses };
      }
      throw new Error(`${name} did not reject`);
    },
    /** @type {const} */ ([method, request]),
  );
}
