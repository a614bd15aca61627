// The bench page runs by itself without a word on it, and shows tables to a person.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { noteWebgpuRun } from "./webgpu_ran.js";

// of this model, from the shared weights on the first shared batch, by two other systems
const FIRST_LOSS = 4.145684;
const MAX_GROWTH_BYTES = 2e6; // of a page of some 100 MB
const SMALL =
  "presets=Nano&sizes=32&forms=matmul_nn&steps=20&backends=numpy,webgpu&growth_steps=200&ops=gelu_fwd,residual_bwd,embed_fwd&experiments=loops";

test("bench.html?auto posts all that it measured and draws no text", async ({
  page,
}) => {
  test.setTimeout(400_000);
  /** @type {(report: any) => void} */
  let take = () => undefined;
  const posted = new Promise((resolve) => {
    take = resolve;
  });
  await page.route("**/result", async (route) => {
    take(route.request().postDataJSON());
    await route.fulfill({ status: 204 });
  });
  await page.goto(`bench.html?auto=all&${SMALL}`);
  const report = await posted;
  expect((await page.locator("body").textContent())?.trim()).toBe("");
  expect(report).toMatchObject({
    is_software: true,
    adapter: /** @type {any} */ (expect.any(String)),
  });
  expect(report.browser).toMatch(/\d+\.\d+/);
  expect(report.build).toMatch(/^[0-9a-f]+$/);
  expect(report.peaks.tflops).toBeGreaterThan(0);
  expect(report.peaks.gb_per_s).toBeGreaterThan(0);
  const product = report.kernels["matmul_nn 32"];
  expect(product.flops).toBe(2 * 32 ** 3);
  expect(product.rows[0]).toMatchObject({ row: "base", error: 0 });
  for (const row of product.rows) {
    expect(row.refused ?? "", row.row).toBe("");
    expect(row.error, row.row).toBeLessThanOrEqual(1);
    expect(row.least_ms).toBeLessThanOrEqual(row.most_ms);
  }
  const { step, rows } = report.ops.Nano;
  const calls = rows.reduce(
    (/** @type {number} */ n, /** @type {any} */ r) => n + r.count,
    0,
  );
  expect(step.dispatches).toBeGreaterThanOrEqual(calls);
  expect(rows.map((/** @type {any} */ r) => r.op)).toContain("adamw_update");
  const inPlace = rows.reduce(
    (/** @type {number} */ ms, /** @type {any} */ r) => ms + r.count * r.in_place_ms,
    0,
  );
  expect(inPlace).toBeGreaterThan(step.ms / 10); // software, and other work beside it
  expect(report.train.Nano.n_steps).toBeGreaterThanOrEqual(20);
  const { webgpu, numpy } = report.backends.Nano;
  expect(numpy.drift).toBe(0);
  expect(webgpu.drift).toBeLessThanOrEqual(1e-4);
  expect(webgpu.losses).toHaveLength(50);
  const forced = Object.entries(report.variants);
  expect(forced.map(([name]) => name)).toContain("embed_fwd quads");
  for (const [name, row] of forced) {
    expect(row.error, name).toBeUndefined();
    expect(row.drift, name).toBeLessThanOrEqual(1e-4);
  }
  const { steps, before_bytes, after_bytes } = report.growth.Nano;
  expect(steps).toBe(200);
  expect(before_bytes).toBeGreaterThan(1e6);
  expect(after_bytes).toBeLessThan(before_bytes + MAX_GROWTH_BYTES);
  noteWebgpuRun("the bench page", report.adapter);
});

test("every way of an experiment does what the first one does", async ({ page }) => {
  /** @type {(report: any) => void} */
  let take = () => undefined;
  const posted = new Promise((resolve) => {
    take = resolve;
  });
  await page.route("**/result", async (route) => {
    take(route.request().postDataJSON());
    await route.fulfill({ status: 204 });
  });
  await page.goto("bench.html?auto=lab");
  const { lab, adapter } = await posted;
  const experiments = Object.entries(lab);
  expect(experiments.length).toBeGreaterThan(5);
  for (const [name, { error, rows }] of experiments) {
    expect(error, name).toBeUndefined();
    expect(rows.length, name).toBeGreaterThan(1);
    for (const row of rows) {
      const way = `${name}: ${row.way}`;
      expect(row.refused, way).toBeUndefined();
      expect(row.error ?? 0, way).toBeLessThanOrEqual(1);
      expect(row.ms, way).toBeGreaterThan(0);
      expect(row.least_ms, way).toBeLessThanOrEqual(row.most_ms);
    }
  }
  noteWebgpuRun("the experiments of the bench page", adapter);
});

test("the CPU engine's products, calls and training are measured", async ({ page }) => {
  /** @type {(report: any) => void} */
  let take = () => undefined;
  const posted = new Promise((resolve) => {
    take = resolve;
  });
  await page.route("**/result", async (route) => {
    take(route.request().postDataJSON());
    await route.fulfill({ status: 204 });
  });
  await page.goto(
    "bench.html?auto=cpu&presets=Nano&sizes=64&forms=matmul_tn&threads=2",
  );
  const { cpu, peaks } = await posted;
  expect(peaks).toBeUndefined();
  const product = cpu.products["matmul_tn 64, 2 threads"];
  expect(product).toMatchObject({ flops: 2 * 64 ** 3, threads: 2 });
  expect(product.peak_gflops).toBeGreaterThan(0);
  expect(product.flops / product.ms / 1e6).toBeLessThan(2 * 1.2 * product.peak_gflops);
  const tiled = cpu.tiles["matmul_tn 64"];
  const tiles = tiled.rows.map((/** @type {any} */ row) => row.tile);
  expect(tiles).toEqual(["4x8", "6x8", "4x16"]);
  expect(tiles).toContain(tiled.tile);
  for (const [name, { rows }] of Object.entries(cpu.tiles)) {
    for (const row of rows) {
      expect(row.is_right, `${name}, ${row.tile}`).toBe(true);
      expect(row.ms, `${name}, ${row.tile}`).toBeGreaterThan(0);
    }
  }
  const { step, rows } = cpu.ops.Nano;
  const calls = rows.map((/** @type {any} */ row) => row.count);
  expect(
    calls.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b),
  ).toBe(step.calls);
  expect(rows.map((/** @type {any} */ row) => row.op)).toContain("attention_bwd");
  expect(cpu.train["Nano, 2 threads"].n_steps).toBeGreaterThanOrEqual(6);
  expect(cpu.train["Nano, 2 threads"].adapter).toMatch(/^WASM 32-bit, 2 threads/);
});

test("drawing weights on the CPU engine is measured", async ({ page }) => {
  await page.goto("");
  const drawn = await page.evaluate(async () => {
    await window.tabgrad.ready;
    return window.tabgrad.measure({ what: "cpu_draw", size: 1e6, threads: 2 });
  });
  expect(drawn).toMatchObject({ count: 1e6, threads: 2 });
  expect(drawn.least_ms).toBeGreaterThan(0);
  expect(drawn.most_ms).toBeGreaterThanOrEqual(drawn.least_ms);
});

test("a person gets tables to copy, and is told of a software adapter", async ({
  page,
  context,
}) => {
  await page.goto(`bench.html?sections=train&${SMALL}`);
  await page.getByRole("button", { name: "Run the bench" }).click();
  const table = page.getByRole("table").last();
  await expect(page.getByRole("heading", { name: "Training on WebGPU" })).toBeVisible({
    timeout: 120_000,
  });
  await expect(table).toContainText("Nano");
  const headline = page.locator("p[role=status]");
  await expect(headline).toContainText("A software adapter");
  await expect(page.getByRole("button", { name: "Run the bench" })).toBeEnabled();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  await expect(page.locator("span[role=status]")).toHaveText("Markdown: Copied.");
  await expect(headline).toContainText("A software adapter");
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toContain("**Training on WebGPU**");
});

test("nothing can be copied before there is a report", async ({ page }) => {
  await page.goto("bench.html");
  for (const name of ["Copy as JSON", "Copy as Markdown"]) {
    await expect(page.getByRole("button", { name })).toBeDisabled();
  }
});

const SECTION_NAMES =
  "kernels, ops, train, backends, variants, growth, lab, cpu or all";
for (const [query, words] of [
  ["auto=kernels&sizes=32,0", "sizes: got 0, wanted whole numbers from 1 on"],
  ["auto=train&steps=abc", "steps: got abc, wanted a whole number from 1 on"],
  ["auto=growth&growth_steps=", "growth_steps: got nothing, wanted a whole number"],
  ["auto=cpu&threads=1.5", "threads: got 1.5, wanted a whole number from 1 on"],
  ["auto=train&seconds=abc", "seconds: got abc, wanted a number above 0"],
  ["auto=train&kernels=other", "kernels: got other, wanted auto or base"],
  ["auto=train&config={", "config: got {, wanted JSON (SyntaxError"],
  ["auto=train&config=[1]", 'config: got [1], wanted an object, such as {"n_embd"'],
  ["auto=train&characters=0", "characters: got 0, wanted a whole number from 1 on"],
  ["auto=train&characters=2000000", "characters: got 2000000, wanted at most 1048576"],
  ["auto=train&sizes=32&sizes=y", "sizes: got 32 and y, wanted one value"],
  ["auto=train&preset=Small", "query: got preset, wanted auto, sections, presets,"],
  ["auto=train,other", `sections: got other, wanted ${SECTION_NAMES}`],
  ["auto=", `sections: got nothing, wanted ${SECTION_NAMES}`],
]) {
  test(`bench.html?${query} is refused in words`, async ({ page }) => {
    const posted = page.waitForRequest("**/result");
    await page.goto(`bench.html?${query}`);
    const report = (await posted).postDataJSON();
    expect(Object.keys(report)).toEqual(["error"]);
    expect(report.error).toContain(words);
    expect(report.error).not.toContain("\n");
    await expect(page.locator("p[role=status]")).toHaveText(report.error);
  });
}

test("a query can change the model of a preset", async ({ page }) => {
  const config = encodeURIComponent('{"n_embd":20,"block_size":9}');
  const posted = page.waitForRequest("**/result");
  await page.goto(
    `bench.html?auto=train,backends&presets=Nano&steps=5&kernels=base&tokenizer=char&config=${config}`,
  );
  const { train, backends } = (await posted).postDataJSON();
  const layers = train.Nano.n_params - (65 + 9 + 2) * 20;
  expect(layers).toBe(12 * 20 * 20 + 13 * 20);
  expect(backends.Nano.webgpu.losses[0]).toBeCloseTo(Math.log(65), 1);
  expect(backends.Nano.webgpu.drift).toBeLessThan(1e-4);
});

test("a query can give a preset a vocabulary of any size", async ({ page }) => {
  const posted = page.waitForRequest("**/result");
  await page.goto(
    "bench.html?auto=train,ops,backends&presets=Nano&steps=5&kernels=base&characters=333",
  );
  const { train, ops, backends } = (await posted).postDataJSON();
  expect(train.Nano.last_loss).toBeLessThan(Math.log(333) + 0.1);
  expect(backends.Nano.webgpu.losses[0]).toBeCloseTo(Math.log(333), 1);
  expect(backends.Nano.webgpu.drift).toBeLessThan(1e-4);
  const head = ops.Nano.rows.find(
    (/** @type {any} */ row) => row.op === "xent_fwd_bwd",
  );
  expect(head.sizes).toContain("V=333");
});

test("a person is told what a query asks for in vain", async ({ page }) => {
  await page.goto("bench.html?sections=nothing");
  await page.getByRole("button", { name: "Run the bench" }).click();
  const words = `sections: got nothing, wanted ${SECTION_NAMES}`;
  await expect(page.locator("p[role=status]")).toHaveText(words);
});

test("forms, backends and experiments that are not there are refused", async ({
  page,
}) => {
  const query = "auto=kernels,backends,lab&presets=Nano&sizes=32";
  const posted = page.waitForRequest("**/result");
  await page.goto(
    `bench.html?${query}&forms=gelu_fwd,other&backends=cuda&experiments=other`,
  );
  const { kernels, backends, lab } = (await posted).postDataJSON();
  for (const name of ["gelu_fwd", "other"]) {
    const words = `op: got '${name}', wanted matmul_nn, `;
    expect(kernels[`${name} 32`].error).toContain(words);
  }
  expect(backends.Nano.error).toContain("backend: got 'cuda', wanted auto");
  expect(lab.other.error).toContain("op got 'other', wanted ");
});

test("links of the lab's notes ask for what the bench page takes", async ({ page }) => {
  const notes = readdirSync("docs/lab").map((name) =>
    readFileSync(`docs/lab/${name}`, "utf8"),
  );
  const links = notes.flatMap(
    (text) => text.match(/http:\S+\/bench\.html\?[^)]+/g) ?? [],
  );
  expect(links.length).toBeGreaterThan(10);
  await page.goto("bench.html");
  const told = await page.evaluate(async (urls) => {
    const { wantedOf } = await import(new URL("js/bench/query.js", location.href).href);
    return urls.map((url) => wantedOf(new URL(url).searchParams).sections);
  }, links);
  for (const [i, sections] of told.entries()) {
    expect(sections, links[i]).toEqual(/auto=([^&]+)/.exec(links[i])?.[1].split(","));
  }
});

test("growth says so where the browser hides the page's memory", async ({ page }) => {
  await page.addInitScript(() => {
    const hidden = { value: undefined };
    Object.defineProperty(performance, "measureUserAgentSpecificMemory", hidden);
  });
  const posted = page.waitForRequest("**/result");
  await page.goto("bench.html?auto=growth,kernels&presets=Nano&sizes=32");
  const { growth, kernels } = (await posted).postDataJSON();
  expect(growth.Nano.error).toContain("does not tell the memory of a page");
  expect(kernels["matmul_nn 32"].rows.length).toBeGreaterThan(1);
});

test("what nobody takes is shown, and so is why it failed", async ({ page }) => {
  await page.goto("bench.html?auto=lab&experiments=loops");
  await expect(page).toHaveTitle(/running/);
  await expect(page.getByRole("heading", { name: "Lab: loops" })).toBeVisible({
    timeout: 60_000,
  });
  await expect(page).not.toHaveTitle(/running/);
  await expect(page.locator("p[role=status]")).toContainText("A software adapter");
  await page.goto("bench.html?auto=variants&presets=Tinny");
  await expect(page.locator("p[role=status]")).toContainText(
    "got 'Tinny', wanted Nano",
  );
});

test("the peer page trains in the setting that systems share", async ({ page }) => {
  await page.goto("peer.html?backend=wasm&steps=3&warmup=2");
  const waited = await page.waitForFunction(() => {
    const { RESULT, ERROR } = /** @type {any} */ (window);
    return RESULT ? { result: RESULT } : ERROR ? { error: ERROR } : null;
  });
  const { result, error } = /** @type {any} */ (await waited.jsonValue());
  expect(error).toBeUndefined();
  expect(result).toMatchObject({
    peer: "tabgrad",
    actual_backend: "wasm",
    params: 108_352,
  });
  expect(result.losses).toHaveLength(5);
  expect(result.losses[0]).toBeCloseTo(FIRST_LOSS, 4);
  expect(result.ms_per_step.n).toBe(3);
  expect(result.ms_per_step_pipelined).toBeGreaterThan(0);
});

test("build.py bench goes on after a backend that fails, and ends with status 1", () => {
  const words = ["tools/bench.mjs", "Nano", "1", "1", "", "cuda", "numpy"];
  const done = spawnSync(process.execPath, words, { encoding: "utf8" });
  expect(done.stderr).toContain("failed: cuda: backend: got 'cuda', wanted auto");
  expect(done.stdout).toMatch(/^numpy +numpy 2\S+ +\d/m);
  expect(done.status).toBe(1);
});

test("a rate over less time than the clock tells apart is a dash", async ({ page }) => {
  await page.goto("bench.html");
  const cells = await page.evaluate(async () => {
    const url = new URL("js/bench/cells.js", location.href).href;
    const { three, percent } = await import(url);
    return [three(1 / 0), percent(0 / 0), three(0.12345), percent(0.5)];
  });
  expect(cells).toEqual(["–", "–", "0.123", "50 %"]);
});

test("a call is held to what the card's peaks let it take at the least", async ({
  page,
}) => {
  const peaks = { tflops: 2, gb_per_s: 100 };
  const call = { sizes: "", row: "base", count: 1, in_place_ms: 1 };
  const rows = [
    { ...call, op: "multiplies", ms: 2, flops: 1e9, bytes: 1e6 }, // 0.5 ms, not 0.01
    { ...call, op: "moves", ms: 1, flops: 1e6, bytes: 25e6 }, // 0.25 ms, not 0.0005
    { ...call, op: "in cache", ms: 0.5, flops: 0, bytes: 75e6 }, // 0.75 ms
  ];
  const ops = { Nano: { step: { ms: 4, dispatches: 3 }, rows } };
  await page.goto("bench.html");
  const [known, unknown, markdown] = await page.evaluate(
    async ([measured, unmeasured]) => {
      const url = new URL("js/bench/report.js", location.href).href;
      const { tablesOf, markdownOf } = await import(url);
      const ofOps = (/** @type {any} */ report) => tablesOf(report).at(-1);
      return [ofOps(measured), ofOps(unmeasured), markdownOf(measured)];
    },
    [
      { peaks, ops },
      { peaks: { error: "no device" }, ops },
    ],
  );
  const column = known.head.indexOf("Of roofline");
  const cells = (/** @type {any} */ { rows: all }) =>
    all.map((/** @type {string[]} */ row) => [row[0], row[column]]);
  expect(cells(known)).toEqual([
    ["multiplies", "25 %"],
    ["moves", "25 %"],
    ["in cache", "150 %"],
    ["sum", ""],
    ["step", ""],
  ]);
  for (const table of [known, unknown]) {
    for (const row of table.rows) {
      expect(row).toHaveLength(table.head.length);
    }
  }
  expect(cells(unknown).slice(0, 3)).toEqual([
    ["multiplies", "–"],
    ["moves", "–"],
    ["in cache", "–"],
  ]);
  expect(markdown).toContain("| GB/s | Of roofline |");
  expect(markdown).toMatch(/\| in cache \|.* 150 % \|/);
});
