// The page by its controls: load, train, pause, step, stop, sample, benchmark.
import { expect, test } from "@playwright/test";
import {
  button,
  openReadyTab,
  reaches,
  ready,
  setUp,
  state,
  stepCount,
} from "./tab.js";

test.describe.configure({ mode: "serial" });

/** @type {import("@playwright/test").Page} */
let page;
/** @type {string[]} */
let complaints;

test.beforeAll(async ({ browser }) => {
  ({ page, complaints } = await openReadyTab(browser));
});

test.afterEach(() => {
  expect(complaints.splice(0), "console, CSP and network").toEqual([]);
});

test.afterAll(() => page.close());

/** @param {string} id */
async function number(id) {
  return Number(await page.getByTestId(id).textContent());
}

test("a software adapter is named and not preferred over WASM", async () => {
  await expect(page.getByTestId("backend")).toHaveText("WASM");
  await page.getByText("Why this one").click();
  await expect(page.locator("#backend-why")).toContainText(
    "WebGPU here is a software adapter (google swiftshader)",
  );
});

test("a preset shows its size and starts no run", async () => {
  await page.getByLabel("Preset").selectOption("Medium");
  await expect(page.locator("#plan-params")).toHaveText("838,400");
  await expect(page.locator("#plan-bytes")).toContainText("MB");
  await reaches(page, "idle");
  await expect(page.locator("#custom")).toBeHidden();
  await page.getByLabel("Steps", { exact: true }).fill("7");
  await expect(page.locator("#custom-text")).toHaveText("Custom (from Medium): steps");
});

test("Nano on numpy trains to its end and its loss falls", async () => {
  await setUp(page, { backend: "numpy", steps: 80, evalEvery: 40 });
  await page.getByLabel("Learning rate").fill("0.003");
  await button(page, "Train").click();
  await reaches(page, "training");
  await reaches(page, "idle");
  await expect(page.getByTestId("step")).toHaveText("80");
  await expect(page.getByTestId("backend")).toHaveText("numpy");
  expect(await number("loss")).toBeLessThan(4.5);
  expect(await number("val-loss")).toBeLessThan(4.5);
  await expect(page.locator("#chart-summary")).toContainText(
    /Training loss 5\.\d+ → \d\.\d+ over 80 steps; validation loss/,
  );
});

test("the table says what the chart shows", async () => {
  await page.getByText("Numbers as a table").click();
  const rows = page.locator("#table-rows tr");
  await expect(rows).toHaveCount(80);
  const last = await rows.last().locator("td").first().textContent();
  expect(last).toBe(await page.getByTestId("loss").textContent());
});

test("a double click on Train starts one run", async () => {
  await setUp(page, { backend: "wasm", steps: 30, evalEvery: 0 });
  await button(page, "Train").dblclick();
  await reaches(page, "idle");
  expect(await number("step")).toBe(30);
  await expect(page.locator(".alert")).toHaveCount(0);
});

test("Pause holds, Step takes one, Train goes on, Stop ends", async () => {
  await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 0 });
  await button(page, "Train").click();
  await expect(page.locator("#goal")).toHaveText("of 1,000,000");
  await expect.poll(() => stepCount(page)).toBeGreaterThan(5);
  await expect(page.locator("#status-detail")).toHaveText(""); // it prepares no more

  const heard = await page.evaluate(async () => {
    const start = performance.now();
    /** @type {HTMLElement} */ (document.querySelector("#pause")).click();
    const status = /** @type {HTMLElement} */ (document.querySelector("#status"));
    while (!["pausing", "paused"].includes(status.dataset.state ?? "")) {
      await new Promise(requestAnimationFrame);
    }
    return performance.now() - start;
  });
  expect(heard).toBeLessThan(250);
  await reaches(page, "paused");
  const held = await stepCount(page);
  await page.waitForTimeout(300);
  expect(await stepCount(page)).toBe(held);
  await expect(button(page, "Pause")).toBeDisabled();
  await expect(button(page, "Pause")).toHaveAttribute("title", /no run/i);

  for (const n of [1, 2]) {
    await button(page, "Step").click();
    await expect(page.getByTestId("step")).toHaveText(String(held + n));
    await reaches(page, "paused");
  }
  await button(page, "Train").click();
  await reaches(page, "training");
  await expect.poll(() => stepCount(page)).toBeGreaterThan(held + 5);
  await expect(page.locator("#eta")).not.toHaveText("–");
  await button(page, "Stop").click();
  await reaches(page, "idle");
});

test("Pause holds a run that is still being prepared", async () => {
  await setUp(page, { backend: "webgpu", steps: 5, evalEvery: 0 });
  await button(page, "Train").click();
  await button(page, "Pause").click();
  await reaches(page, "paused");
  expect(await stepCount(page)).toBeLessThanOrEqual(1);
  await button(page, "Train").click();
  await reaches(page, "idle");
  expect(await stepCount(page)).toBe(5);
});

test("Step without a run begins one and waits after its first step", async () => {
  await setUp(page, { backend: "numpy", steps: 3, evalEvery: 0 });
  await button(page, "Step").click();
  await reaches(page, "paused");
  expect(await stepCount(page)).toBe(1);
  await button(page, "Step").click();
  await expect(page.getByTestId("step")).toHaveText("2");
  await reaches(page, "paused");
  await button(page, "Step").click();
  await reaches(page, "idle");
  expect(await stepCount(page)).toBe(3);
});

test("Sample works while the run trains and while it is paused", async () => {
  await setUp(page, { backend: "wasm", steps: 1_000_000, evalEvery: 0 });
  await page.getByLabel("Max tokens").fill("30");
  await button(page, "Train").click();
  await expect.poll(() => stepCount(page)).toBeGreaterThan(2);
  await button(page, "Sample").click();
  await expect(page.locator("#sample-note")).toContainText("30 tokens");
  await reaches(page, "training");
  await button(page, "Pause").click();
  await reaches(page, "paused");
  await button(page, "Sample").click();
  await expect(page.locator("#sample-note")).toContainText("30 tokens");
  await button(page, "Stop").click();
  await reaches(page, "idle");
});

test("each sampling control changes the text, and greedy repeats itself", async () => {
  /** @param {Record<string, string>} settings */
  async function sampled(settings) {
    for (const [label, value] of Object.entries(settings)) {
      await page.getByLabel(label, { exact: true }).fill(value);
    }
    await button(page, "Sample").click();
    await expect(page.locator("#sample-note")).toContainText("tokens");
    return page.locator("#sample-text").textContent();
  }
  const greedy = { Temperature: "0", "Top-k": "0", "Sample seed": "1" };
  const first = await sampled(greedy);
  await expect(page.locator("#sample-note")).toContainText("greedy");
  expect(await sampled({ "Sample seed": "2" })).toBe(first);
  const warm = await sampled({ Temperature: "1", "Sample seed": "1" });
  expect(warm).not.toBe(first);
  expect(await sampled({ "Sample seed": "2" })).not.toBe(warm);
  expect(await sampled({ "Top-k": "1" })).toBe(first);
  expect(await sampled({ Prompt: "" })).not.toBe("");
});

test("a sample that is cancelled keeps what it has", async () => {
  await page.getByLabel("Max tokens").fill("100000");
  await page.getByLabel("Top-k").fill("0");
  await button(page, "Sample").click();
  await expect(page.locator("#sample-text")).toHaveText(/\S/);
  await button(page, "Cancel writing").click();
  await expect(page.locator("#sample-note")).toContainText("tokens");
  await expect(page.locator("#sample-text")).toHaveText(/\S/);
});

test("pasted text trains, and a prompt's unknown characters are named", async () => {
  await setUp(page, { backend: "numpy", steps: 20, evalEvery: 10 });
  await page.getByLabel("Corpus").selectOption("paste");
  await page.getByLabel("Your text").fill("abcabcabd ".repeat(50));
  await page.getByText("Advanced").click();
  await page.getByLabel("Tokenizer").selectOption("char");
  await button(page, "Train").click();
  await reaches(page, "idle");
  expect(await stepCount(page)).toBe(20);
  await page.getByLabel("Max tokens").fill("10");
  await page.getByLabel("Prompt").fill("Hé?");
  await button(page, "Sample").click();
  await expect(page.locator("#sample-note")).toContainText("“?” “H” “é”");
  expect(await page.locator("#sample-text").textContent()).toMatch(/^[abcd ]{10}$/);
});

test("a corpus that is too short is refused beside its field", async () => {
  await page.getByLabel("Your text").fill("hello");
  await expect(page.locator("#fault-corpus")).toContainText(
    "the corpus has 5 tokens; this preset needs at least 17",
  );
  await expect(button(page, "Train")).toBeDisabled();
  await expect(page.locator("#status-detail")).toContainText("Train waits: the corpus");
  await page.getByLabel("Your text").fill("hello, hello, hello");
  await expect(page.locator("#plan-no-validation")).toBeVisible();
  await expect(button(page, "Train")).toBeEnabled();
});

test("a file is read, and a binary one is refused", async () => {
  await page.getByLabel("Corpus").selectOption("file");
  const file = page.getByLabel("Text file");
  const text = Buffer.from("To be, or not to be. ".repeat(40));
  await file.setInputFiles({
    name: "hamlet.txt",
    mimeType: "text/plain",
    buffer: text,
  });
  await expect(page.locator("#corpus-file-facts")).toHaveText(
    "hamlet.txt: 840 characters",
  );
  await expect(button(page, "Train")).toBeEnabled();
  const bytes = Buffer.from([0x89, 0x50, 0, 0, 0, 1, 2]);
  await file.setInputFiles({ name: "x.txt", mimeType: "text/plain", buffer: bytes });
  await expect(page.locator("#fault-corpus")).toContainText("looks binary");
  await expect(button(page, "Train")).toBeDisabled();
  await page.getByLabel("Corpus").selectOption("tinyshakespeare");
  await expect(button(page, "Train")).toBeEnabled();
});

test("the validator's own words stand beside the fields", async () => {
  await page.getByLabel("Width (n_embd)").fill("33");
  await page.getByLabel("Heads").fill("2");
  await page.getByLabel("Learning rate").fill("-1");
  const width = page.getByLabel("Width (n_embd)");
  await expect(page.locator("#fault-n_embd")).toHaveText(
    "n_embd 33 is not a multiple of n_head 2; try n_embd 32 or 34",
  );
  await expect(page.locator("#fault-lr")).toHaveText("lr: got -1, wanted 0.0 to 100.0");
  await expect(width).toHaveAttribute("aria-invalid", "true");
  await expect(width).toHaveAttribute("aria-describedby", "fault-n_embd");
  await expect(button(page, "Train")).toHaveAttribute("title", /Train waits/);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(button(page, "Train")).toBeEnabled();
  await expect(page.locator("#fault-n_embd")).toBeHidden();
});

test("a run that diverges says so, and its losses stay", async () => {
  await setUp(page, { backend: "numpy", steps: 200, evalEvery: 0 });
  await page.getByLabel("Learning rate").fill("100");
  await page.getByLabel("Gradient clip").fill("0");
  await button(page, "Train").click();
  await reaches(page, "error");
  const alert = page.locator(".alert");
  await expect(alert).toContainText("lower the learning rate");
  await expect(alert).toContainText(/Kept: the losses of the \d+ steps before/);
  await expect(alert).toContainText("TAB-NONFINITE");
  expect(await stepCount(page)).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(alert).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
});

test("the benchmark lists each backend with its adapter", async () => {
  test.setTimeout(300_000);
  await setUp(page, { steps: 10 });
  await page.getByLabel("Repeats").fill("5");
  await button(page, "Benchmark").click();
  const rows = page.locator("#benchmark-rows tr");
  await expect(rows).toHaveCount(3, { timeout: 240_000 });
  await expect(rows.nth(0)).toContainText("software adapter");
  await expect(rows.nth(1)).toContainText("WASM 32-bit");
  await expect(rows.nth(2)).toContainText("numpy");
  await expect(button(page, "Copy as JSON")).toBeEnabled();
});

test("the number of threads is chosen in the page, and changes no loss", async () => {
  await setUp(page, { backend: "wasm", steps: 5 });
  const offered = await page
    .getByLabel("CPU threads")
    .locator("option")
    .allTextContents();
  const { threads } = await page.evaluate(() => window.tabgrad.ready);
  expect(offered).toHaveLength(1 + threads);
  const losses = [];
  for (const [choice, adapter] of [
    ["1", /, 1 thread,/],
    ["all", threads === 1 ? /, 1 thread,/ : new RegExp(`, ${threads} threads,`)],
  ]) {
    await page.getByLabel("CPU threads").selectOption(String(choice));
    await button(page, "Train").click();
    await reaches(page, "training");
    await reaches(page, "idle");
    await expect(page.locator("#adapter")).toHaveText(adapter);
    losses.push(await page.getByTestId("loss").textContent());
  }
  expect(losses[0]).toBe(losses[1]);
});

test("what the browser does not let copy is told", async () => {
  await page.evaluate(() => {
    const refuse = () =>
      Promise.reject(new DOMException("no focus", "NotAllowedError"));
    navigator.clipboard.writeText = refuse;
  });
  await button(page, "Copy as JSON").click();
  await expect(page.locator("#benchmark-note")).toHaveText(
    "Not copied: the browser refused: no focus",
  );
});

test("the page answers at once while the engine computes", async () => {
  await page.getByLabel("Preset").selectOption("Small");
  await page.getByLabel("Backend", { exact: true }).selectOption("numpy");
  await page.evaluate(() => {
    const seen = { longest: 0 };
    Object.assign(window, { seen });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        seen.longest = Math.max(seen.longest, duration);
      }
    }).observe({ type: "longtask" });
  });
  await button(page, "Train").click();
  await expect.poll(() => stepCount(page)).toBeGreaterThan(2);
  await button(page, "Stop").click();
  await expect(state(page)).toHaveText("Stopping");
  await reaches(page, "idle");
  // a step of Small takes numpy far longer than this: none ran on the page's thread
  // (50 ms on an idle machine; here the browser shares two cores with its own worker)
  const longest = await page.evaluate(() => /** @type {any} */ (window).seen.longest);
  expect(longest).toBeLessThan(200);
});

test("messages to the page are few", async ({ browser }) => {
  const counting = await browser.newPage();
  await counting.addInitScript(() => {
    const counts = { messages: 0 };
    const Plain = Worker;
    class Counted extends Plain {
      /** @param {ConstructorParameters<typeof Worker>} given */
      constructor(...given) {
        super(...given);
        this.addEventListener("message", () => {
          counts.messages += 1;
        });
      }
    }
    Object.assign(window, { Worker: Counted, counts });
  });
  await counting.goto("/");
  await ready(counting);
  const perSecond = await counting.evaluate(async () => {
    const { counts, tabgrad } = /** @type {any} */ (window);
    const run = tabgrad.train({ preset: "Nano", backend: "wasm", steps: 1e6 });
    while (Number(document.querySelector("#step")?.textContent) === 0) {
      await new Promise(requestAnimationFrame);
    }
    const before = counts.messages;
    await new Promise((resolve) => setTimeout(resolve, 4000));
    const rate = (counts.messages - before) / 4;
    await tabgrad.stop();
    await run;
    return rate;
  });
  await counting.close();
  expect(perSecond).toBeGreaterThan(1);
  expect(perSecond).toBeLessThanOrEqual(15);
});
