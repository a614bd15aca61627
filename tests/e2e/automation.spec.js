// window.tabgrad: the shapes of docs/automation.md, and errors in words.
import { inspect } from "node:util";
import { expect, test } from "@playwright/test";
import { openReadyTab, reaches, rejection } from "./tab.js";

test.describe.configure({ mode: "serial" });

/** @type {import("@playwright/test").Page} */
let page;

test.beforeAll(async ({ browser }) => {
  ({ page } = await openReadyTab(browser));
});

test.afterAll(() => page.close());

test("ready says what this browser can do", async () => {
  const facts = await page.evaluate(() => window.tabgrad.ready);
  expect(facts).toMatchObject({ isolated: true, memory64: true });
  expect(facts.backends).toEqual(["webgpu", "wasm", "numpy"]);
  expect(facts.adapter).toBe("google swiftshader");
  expect(facts.version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(facts.threads).toBeGreaterThan(1);
});

test("train resolves with one loss and one norm a step, in order", async () => {
  const got = await page.evaluate(() =>
    window.tabgrad.train({
      preset: "Nano",
      backend: "numpy",
      steps: 30,
      seed: 7,
      corpus: "tinyshakespeare",
      eval_every: 10,
    }),
  );
  expect(got.losses).toHaveLength(30);
  expect(got.grad_norms).toHaveLength(30);
  expect(got.losses[0]).toBeCloseTo(Math.log(256), 1);
  expect(got.losses[29]).toBeLessThan(got.losses[0]);
  expect(got.val_losses).toHaveLength(3);
  expect(got.val_steps).toEqual([10, 20, 30]);
  const { median, min, p90 } = got.ms_per_step;
  expect(min).toBeGreaterThan(0);
  expect(median).toBeGreaterThanOrEqual(min);
  expect(p90).toBeGreaterThanOrEqual(median);
  expect(got.first_step_ms).toBeGreaterThan(0);
  expect(got.tokens_per_s).toBeCloseTo((8 * 16 * 1000) / median, 3);
  expect(got).toMatchObject({ backend: "numpy", n_params: 21472, is_stopped: false });
  expect(got.adapter).toContain("numpy");
});

test("what a script trains is what the page shows", async () => {
  await expect(page.getByTestId("step")).toHaveText("30");
  await expect(page.getByTestId("backend")).toHaveText("numpy");
});

test("the same seed gives the same losses, another seed others", async () => {
  const runs = await page.evaluate(async () => {
    const losses = [];
    for (const seed of [1, 1, 2]) {
      const request = { preset: "Nano", backend: "wasm", steps: 5, seed };
      losses.push((await window.tabgrad.train(request)).losses);
    }
    return losses;
  });
  expect(runs[1]).toEqual(runs[0]);
  expect(runs[2]).not.toEqual(runs[0]);
});

for (const backend of ["numpy", "wasm", "webgpu"]) {
  test(`steps one by one give the losses of one run on ${backend}`, async () => {
    const [stepped, straight] = await page.evaluate(async (name) => {
      const { tabgrad } = window;
      const request = { preset: "Nano", backend: name, steps: 4, eval_every: 0 };
      const run = tabgrad.step(request);
      const status = /** @type {HTMLElement} */ (document.querySelector("#status"));
      for (let n = 1; n < 4; n++) {
        while (status.dataset.state !== "paused") {
          await new Promise(requestAnimationFrame);
        }
        await tabgrad.step();
      }
      const one = await run;
      return [one.losses, (await tabgrad.train(request)).losses];
    }, backend);
    expect(stepped).toHaveLength(4);
    expect(stepped).toEqual(straight);
  });
}

test("stop resolves the run with what it has", async () => {
  const got = await page.evaluate(async () => {
    const { tabgrad } = window;
    const run = tabgrad.train({ preset: "Nano", backend: "wasm", steps: 1_000_000 });
    const shown = (/** @type {string} */ id) => document.querySelector(id)?.textContent;
    while (shown("#goal") !== "of 1,000,000" || Number(shown("#step")) < 3) {
      await new Promise(requestAnimationFrame);
    }
    await tabgrad.stop();
    return run;
  });
  expect(got.is_stopped).toBe(true);
  expect(got.losses.length).toBeGreaterThanOrEqual(3);
  expect(got.losses.length).toBeLessThan(1_000_000);
});

test("a run that is stopped before its first step says so", async () => {
  const code = await page.evaluate(async () => {
    const run = window.tabgrad.train({ preset: "Nano", backend: "wasm" });
    window.tabgrad.stop();
    return run.catch((/** @type {any} */ error) => error.code);
  });
  expect(code).toBe("TAB-STOPPED");
  await reaches(page, "idle");
});

test("config is a preset of one's own, and text a corpus", async () => {
  const got = await page.evaluate(() =>
    window.tabgrad.train({
      config: { n_layer: 2, n_head: 2, n_embd: 16, block_size: 8, batch_size: 4 },
      backend: "numpy",
      steps: 3,
      corpus: { text: "to be or not to be, that is the question. ".repeat(9) },
      tokenizer: "char",
    }),
  );
  expect(got.losses).toHaveLength(3);
  expect(got.n_params).toBe((15 + 8 + 2) * 16 + 2 * (12 * 256 + 13 * 16));
});

test("logits belong to the next token, and greedy sampling takes the largest", async () => {
  const got = await page.evaluate(async () => {
    const { tabgrad } = window;
    await tabgrad.train({ preset: "Nano", backend: "wasm", steps: 20 });
    const logits = await tabgrad.logits({ text: "First Citizen" });
    const request = { prompt: "First Citizen", max_tokens: 1, temperature: 0 };
    const { text, tokens_per_s } = await tabgrad.sample(request);
    return {
      isFloat32: logits instanceof Float32Array,
      size: logits.length,
      likeliest: String.fromCharCode(logits.indexOf(Math.max(...logits))),
      text,
      tokens_per_s,
    };
  });
  expect(got).toMatchObject({ isFloat32: true, size: 256, text: got.likeliest });
  expect(got.tokens_per_s).toBeGreaterThan(0);
});

test("a sample on another backend has the same weights", async () => {
  const texts = await page.evaluate(async () => {
    const request = { prompt: "ROMEO:", max_tokens: 20, temperature: 0 };
    const found = [];
    for (const backend of ["wasm", "numpy", "webgpu"]) {
      found.push((await window.tabgrad.sample({ ...request, backend })).text);
    }
    return found;
  });
  expect(texts[0]).toHaveLength(20);
  expect(new Set(texts).size).toBe(1);
});

test("plan gives sizes before anything is allocated", async () => {
  const plan = await page.evaluate(() => window.tabgrad.plan({ preset: "Behemoth" }));
  expect(plan.n_params).toBe(473_244_160);
  expect(plan.bytes).toBeGreaterThan(16 * plan.n_params);
  expect(plan.flops).toBeGreaterThan(1e12);
  expect(plan.dispatches).toBeGreaterThan(100);
  const named = plan.tensors.find((/** @type {any} */ t) => t.name === "wte.weight");
  expect(named).toMatchObject({ shape: [256, 1280], dtype: "f32", role: "param" });
});

test("selftest holds a backend to the references", async () => {
  const rows = await page.evaluate(() =>
    window.tabgrad.selftest({ backend: "wasm", ops: ["matmul_nn", "gelu_bwd"] }),
  );
  expect(rows.map((/** @type {any} */ row) => row.op)).toEqual(
    expect.arrayContaining(["matmul_nn", "gelu_bwd"]),
  );
  expect(rows.every((/** @type {any} */ row) => row.passes)).toBe(true);
});

/** @type {[any, string, string][]} */
const REFUSED = [
  [{ preset: "Gigantic" }, "TAB-CONFIG", "wanted Nano, Tiny"],
  [{ config: { n_embd: 100, n_head: 12 } }, "TAB-CONFIG", "try n_embd 96 or 108"],
  [{ stpes: 5 }, "TAB-CONFIG", "unknown key stpes"],
  [{ backend: "cuda" }, "TAB-BACKEND", "wanted auto, webgpu, wasm, numpy"],
  [{ corpus: { text: "hello" } }, "TAB-CORPUS", "the corpus has 5 tokens"],
  [{ corpus: "moby" }, "TAB-CORPUS", "wanted tinyshakespeare"],
  [null, "TAB-CONFIG", "request: got null, wanted an object"],
  [5, "TAB-CONFIG", "request: got 5, wanted an object"],
  [{ steps: Number.NaN }, "TAB-CONFIG", "steps: got NaN, wanted a finite number"],
  [{ config: { lr: Infinity } }, "TAB-CONFIG", "lr: got Infinity"],
  [{ seed: 1n }, "TAB-CONFIG", "seed: got a bigint"],
  [{ seed: 2 ** 53 }, "TAB-CONFIG", "seed: got 9007199254740992, wanted at most"],
  [{ config: { seed: 2 ** 60 } }, "TAB-CONFIG", "wanted at most 9007199254740991"],
  [{ corpus: 5 }, "TAB-CORPUS", "corpus: got 5, wanted tinyshakespeare"],
  [{ corpus: { text: 5 } }, "TAB-CORPUS", 'corpus: got {"text":5}'],
  [
    { backend: "numpy", config: { batch_size: 4096, block_size: 8192 } },
    "TAB-BACKEND",
    "numpy cannot allocate",
  ],
  [
    {
      backend: "wasm",
      config: { n_layer: 24, n_head: 24, n_embd: 1824, block_size: 512, batch_size: 4 },
    },
    "TAB-BACKEND",
    "What fits has batch_size x block_size at most 29 % of this",
  ],
];

for (const [request, code, words] of REFUSED) {
  test(`train ${inspect(request)} is refused in the page's words`, async () => {
    const fault = await rejection(page, "train", request);
    expect(fault.code).toBe(code);
    expect(fault.message).toContain(words);
    await expect(page.locator(".alert").last()).toContainText(fault.message);
    await page.getByRole("button", { name: "Dismiss" }).last().click();
  });
}

for (const [method, request] of [
  ["sample", { prompt: 5 }],
  ["sample", { prompt: null }],
  ["logits", { text: ["a"] }],
]) {
  test(`${method} ${inspect(request)} is refused: no text`, async () => {
    const fault = await rejection(page, method, request);
    expect(fault).toMatchObject({ code: "TAB-CONFIG" });
    expect(fault.message).toMatch(/^(prompt|text): got .*, wanted a text$/);
  });
}

test("engines that have ended give their memory back", async () => {
  test.setTimeout(120_000);
  const losses = await page.evaluate(async () => {
    const request = { preset: "Nano", backend: "wasm", steps: 1, eval_every: 0 };
    const found = new Set();
    // a browser holds some 120 memories
    for (let run = 0; run < 180; run++) {
      found.add((await window.tabgrad.train(request)).losses[0]);
    }
    return [...found];
  });
  expect(losses).toHaveLength(1);
});

test("a second run is refused while one is under way", async () => {
  await page.evaluate(() => {
    const request = { preset: "Nano", backend: "wasm", steps: 1_000_000 };
    Object.assign(window, { run: window.tabgrad.train(request) });
  });
  expect((await rejection(page, "train", {})).code).toBe("TAB-BUSY");
  expect((await rejection(page, "benchmark", {})).code).toBe("TAB-BUSY");
  await page.evaluate(() => window.tabgrad.stop());
  await reaches(page, "idle");
});

test("a run that diverges rejects with the losses so far", async () => {
  const config = { lr: 100, grad_clip: 0 };
  const request = { preset: "Nano", backend: "numpy", steps: 100, config };
  const fault = await rejection(page, "train", request);
  expect(fault.code).toBe("TAB-NONFINITE");
  expect(fault.losses?.length).toBeGreaterThan(0);
  await reaches(page, "error");
});
