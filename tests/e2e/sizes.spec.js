// Sizes past what most runs see: GPT-2's vocabulary, and more rows than one dimension of a
// dispatch takes. Held to numpy in the same tab.
import { expect, test } from "@playwright/test";
import { openReadyTab } from "./tab.js";
import { noteWebgpuRun } from "./webgpu_ran.js";

const GPT2_VOCAB = 50_257;
const MAX_GROUPS = 65_535; // of one dimension of a dispatch
const SEED = 5;

/** @type {import("@playwright/test").Page} */
let page;

test.beforeAll(async ({ browser }) => {
  ({ page } = await openReadyTab(browser));
});

test.afterAll(() => page.close());

/**
 * Train on numpy and on each other backend, and hold the losses to numpy's.
 *
 * @param {object} request
 */
async function agree(request) {
  const runs = await page.evaluate(
    async ([wanted, seed]) => {
      const out = [];
      for (const backend of ["numpy", "wasm", "webgpu"]) {
        const common = { steps: 2, eval_every: 0, seed, kernels: "base" };
        out.push(await window.tabgrad.train({ ...common, ...wanted, backend }));
      }
      return out;
    },
    /** @type {const} */ ([request, SEED]),
  );
  const [numpy, ...others] = runs;
  for (const run of others) {
    for (const key of /** @type {const} */ (["losses", "grad_norms"])) {
      expect(run[key]).toHaveLength(2);
      for (const [i, value] of run[key].entries()) {
        const error = Math.abs(value / numpy[key][i] - 1);
        expect(error, `${run.backend} ${key} ${i}`).toBeLessThanOrEqual(1e-5);
      }
    }
  }
  noteWebgpuRun(`2 steps of ${numpy.n_params} weights`, others[1].adapter);
  return numpy;
}

test("a vocabulary as large as GPT-2's trains alike on every backend", async () => {
  test.setTimeout(120_000);
  const config = { n_layer: 1, n_head: 1, n_embd: 16, block_size: 8, batch_size: 4 };
  const corpus = await page.evaluate((count) => {
    // every character once, then each third one again
    const firsts = Array.from({ length: count }, (_, i) =>
      String.fromCodePoint(0x10000 + i),
    );
    return { text: firsts.join("") + firsts.filter((_, i) => i % 3 === 0).join("") };
  }, GPT2_VOCAB);
  const run = await agree({ config, corpus, tokenizer: "char" });
  expect(run.n_params).toBe((GPT2_VOCAB + 8 + 2) * 16 + 12 * 16 * 16 + 13 * 16);
  expect(run.losses[0]).toBeCloseTo(Math.log(GPT2_VOCAB), 1);
});

test("more rows than one dimension of a dispatch train alike on every backend", async () => {
  test.setTimeout(120_000);
  const config = { n_layer: 1, n_head: 1, n_embd: 8, block_size: 17, batch_size: 4096 };
  expect(config.block_size * config.batch_size).toBeGreaterThan(MAX_GROUPS);
  await agree({ config });
});

test("many weights, drawn by the CPU engine for the GPU, are those of numpy", async () => {
  test.setTimeout(120_000);
  /** @type {string[]} */
  const engines = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) {
      engines.push(request.url());
    }
  });
  const runs = await page.evaluate(async () => {
    const config = { n_layer: 3, n_head: 1, n_embd: 512, block_size: 8, batch_size: 1 };
    const wanted = { config, steps: 1, eval_every: 0, seed: 5 };
    const numpy = await window.tabgrad.train({ ...wanted, backend: "numpy" });
    const gpu = { ...wanted, kernels: /** @type {const} */ ("base") };
    return [numpy, await window.tabgrad.train({ ...gpu, backend: "webgpu" })];
  });
  const [numpy, gpu] = runs;
  expect(numpy.n_params).toBeGreaterThan(2 ** 23);
  expect(Math.abs(gpu.losses[0] / numpy.losses[0] - 1)).toBeLessThanOrEqual(1e-6);
  expect(engines).toHaveLength(1);
  noteWebgpuRun(`a step of ${numpy.n_params} weights`, gpu.adapter);
});

test("sizes that no tile divides train alike with kernels that guard edges", async () => {
  test.setTimeout(120_000);
  const { wasm, webgpu } = await page.evaluate(async () => {
    const config = { n_layer: 2, n_head: 2, n_embd: 36, block_size: 33, batch_size: 2 };
    const wanted = { config, tokenizer: "char", steps: 50, eval_every: 0, seed: 5 };
    const products = ["matmul_nn", "matmul_nt", "matmul_tn", "matmul_nt_mul"];
    products.push("linear_fwd", "linear_gelu_fwd", "linear_residual_fwd");
    products.push("grouped_linear_bwd_wb");
    const row = "32x32x32 4x4 guarded";
    const kernels = Object.fromEntries(products.map((op) => [op, row]));
    return {
      wasm: await window.tabgrad.train({ ...wanted, backend: "wasm" }),
      webgpu: await window.tabgrad.train({ ...wanted, kernels, backend: "webgpu" }),
    };
  });
  for (const [i, loss] of wasm.losses.entries()) {
    const error = Math.abs(webgpu.losses[i] / loss - 1);
    expect(error, `step ${i}`).toBeLessThanOrEqual(1e-5);
  }
  expect(webgpu.losses).toHaveLength(50);
  noteWebgpuRun("50 steps of sizes that no tile divides", webgpu.adapter);
});
