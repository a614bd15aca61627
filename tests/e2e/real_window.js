// A browser window whose tabs are hidden when another one is shown, as a user's are.
// Playwright tells each of its own pages that it has the focus, and such a page stays
// visible whatever is in front of it; so these tabs are driven without it.
import { expect } from "@playwright/test";

/**
 * @typedef {object} Tab
 * @property {<T, R>(run: (given: T) => R, given: T) => Promise<Awaited<R>>} evaluate
 *   calls a function in the page; what it takes and gives must be JSON
 * @property {() => Promise<void>} show brings the tab to the front of its window
 */

/**
 * Open a window with no tab in it yet; `open` resolves when the page is loaded.
 *
 * @param {import("@playwright/test").Browser} browser
 * @returns {Promise<{open: (url: string) => Promise<Tab>, close: () => Promise<void>}>}
 */
export async function openWindow(browser) {
  const cdp = await browser.newBrowserCDPSession();
  const { browserContextId } = await cdp.send("Target.createBrowserContext");
  /** @type {Map<number, (answer: any) => void>} */
  const waiting = new Map();
  cdp.on("Target.receivedMessageFromTarget", ({ message }) => {
    const answer = JSON.parse(message);
    waiting.get(answer.id)?.(answer);
  });
  return {
    async open(url) {
      const created = { url, browserContextId };
      const { targetId } = await cdp.send("Target.createTarget", created);
      const { sessionId } = await cdp.send("Target.attachToTarget", { targetId });
      /**
       * @param {Function} run
       * @param {any} given
       */
      const call = async (run, given) => {
        const expression = `(${run})(${JSON.stringify(given)})`;
        const params = { expression, awaitPromise: true, returnByValue: true };
        const id = waiting.size + 1;
        const message = JSON.stringify({ id, method: "Runtime.evaluate", params });
        const { result, error } = await new Promise((resolve) => {
          waiting.set(id, resolve);
          cdp.send("Target.sendMessageToTarget", { sessionId, message });
        });
        const thrown = result?.exceptionDetails?.exception?.description;
        if (error || thrown) {
          throw new Error(error?.message ?? thrown);
        }
        return result.result.value;
      };
      // until then the tab may be on its way from an empty page, where no call survives
      const isThere = () =>
        call(
          (/** @type {string} */ wanted) =>
            location.href === wanted && document.readyState === "complete",
          url,
        ).catch(() => false);
      await expect.poll(isThere).toBe(true);
      return {
        evaluate: call,
        async show() {
          await cdp.send("Target.activateTarget", { targetId });
        },
      };
    },
    async close() {
      await cdp.send("Target.disposeBrowserContext", { browserContextId });
      await cdp.detach();
    },
  };
}
