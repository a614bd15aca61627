// A page whose worker runs Python of the wheel on a GPU device, for tests of kernels.
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";

const FIXTURES = new URL("./fixtures/", import.meta.url);

/**
 * @param {string} name a file of tests/e2e/fixtures/
 * @returns {string}
 */
function fixture(name) {
  return readFileSync(new URL(name, FIXTURES), "utf8");
}

export class GpuPython {
  /** @type {import("@playwright/test").Page} */
  #page;

  /** @param {import("@playwright/test").Page} page */
  constructor(page) {
    this.#page = page;
  }

  /**
   * Open a page and boot its worker.
   *
   * @param {import("@playwright/test").Browser} browser
   * @param {string | undefined} baseURL
   */
  static async open(browser, baseURL) {
    const page = await browser.newPage({ baseURL });
    await page.goto("build.json");
    await page.evaluate((source) => {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const scope = /** @type {any} */ (globalThis);
      scope.gpuWorker = new Worker(url, { type: "module" });
    }, fixture("gpu_worker.js"));
    const opened = new GpuPython(page);
    await opened.run(fixture("gpu_driver.py"));
    return opened;
  }

  /**
   * @param {string} code Python; its last line is the result
   * @returns {Promise<string>}
   */
  async run(code) {
    const base = new URL(".", this.#page.url()).href;
    const answer = await this.#page.evaluate(
      ({ base, code }) =>
        new Promise((resolve) => {
          const worker = /** @type {any} */ (globalThis).gpuWorker;
          worker.onmessage = (/** @type {MessageEvent} */ event) => resolve(event.data);
          worker.postMessage({ base, code });
        }),
      { base, code },
    );
    expect(answer.error, answer.error).toBeUndefined();
    expect(answer.unhandled).toEqual([]);
    return answer.result;
  }

  /**
   * @param {string} code Python; its last line is JSON
   * @returns {Promise<any>}
   */
  async json(code) {
    return JSON.parse(await this.run(code));
  }

  async close() {
    await this.#page.close();
  }
}
