// What the bench measures of the CPU engine: products, by each of its tiles, the calls of a
// training step, training, and how it grows with threads and with what a build has.

/** @import { Api } from "../api.js" */
/** @import { Part } from "./measure.js" */
/** @import { Wanted } from "./query.js" */

const BUILDS = /** @type {const} */ ([
  "engine32fma",
  "engine64fma",
  "engine32",
  "engine64",
]);
const COMPARED = ["Small", "XL"]; // with each number of threads, and each build
const TRAIN_MS = 4000;

/**
 * @param {Api} api
 * @param {Wanted} wanted
 * @param {Part} part
 */
export async function measureCpu(api, wanted, part) {
  const { threads: all } = await api.ready;
  const { presets, sizes, threads = all } = wanted.cpu;
  const forms = wanted.forms;
  await measureProducts(api, { forms, sizes, threads }, part);
  await measureTiles(api, { forms, sizes }, part);
  for (const preset of presets) {
    await part(["cpu", "ops", preset], () =>
      api.measure({ what: "cpu_ops", preset, threads }),
    );
    await part(["cpu", "train", `${preset}, ${named(threads)}`], () =>
      trained(api, { preset, threads }),
    );
  }
  for (const preset of presets.filter((name) => COMPARED.includes(name))) {
    await measureScaling(api, preset, threads, part);
  }
}

/**
 * @param {Api} api
 * @param {{forms: string[], sizes: number[], threads: number}} wanted
 * @param {Part} part
 */
async function measureProducts(api, { forms, sizes, threads }, part) {
  const one = forms.flatMap((op) => sizes.map((size) => ({ op, size })));
  const each = BUILDS.map((build) => ({ op: "matmul_nn", size: 1024, build }));
  for (const product of [...one, ...each]) {
    for (const n of new Set([1, threads])) {
      const { op, size, build } = { build: undefined, ...product };
      const words = [`${op} ${size}`, named(n), ...(build ? [build] : [])];
      await part(["cpu", "products", words.join(", ")], () =>
        api.measure({ what: "cpu_matmul", threads: n, ...product }),
      );
    }
  }
}

/**
 * On one thread, as tiles are told apart at the start of an engine.
 *
 * @param {Api} api
 * @param {{forms: string[], sizes: number[]}} wanted
 * @param {Part} part
 */
async function measureTiles(api, { forms, sizes }, part) {
  const one = forms.flatMap((op) => sizes.map((size) => ({ op, size })));
  const each = BUILDS.slice(1).map((build) => ({ op: "matmul_nn", size: 1024, build }));
  for (const product of [...one, ...each]) {
    const { op, size, build } = { build: undefined, ...product };
    await part(["cpu", "tiles", [`${op} ${size}`, build ?? []].flat().join(", ")], () =>
      api.measure({ what: "cpu_tiles", threads: 1, ...product }),
    );
  }
}

/**
 * @param {Api} api
 * @param {string} preset
 * @param {number} threads
 * @param {Part} part
 */
async function measureScaling(api, preset, threads, part) {
  for (const n of [1, 2, 4, 8, 16, 32].filter((power) => power < threads)) {
    await part(["cpu", "train", `${preset}, ${named(n)}`], () =>
      trained(api, { preset, threads: n }),
    );
  }
  for (const build of BUILDS) {
    await part(["cpu", "train", `${preset}, ${named(threads)}, ${build}`], () =>
      trained(api, { preset, threads, build }),
    );
  }
}

/** @param {number} n */
const named = (n) => (n === 1 ? "1 thread" : `${n} threads`);

/**
 * @param {Api} api
 * @param {import("../api.js").RunRequest} chosen
 */
async function trained(api, chosen) {
  const wanted = { ...chosen, backend: "wasm", eval_every: 0 };
  const first = await api.train({ ...wanted, steps: 3 });
  const steps = Math.max(6, Math.ceil(TRAIN_MS / first.ms_per_step.median));
  const run = await api.train({ ...wanted, steps });
  const { ms_per_step, tokens_per_s, adapter, losses } = run;
  return {
    ms_per_step,
    tokens_per_s,
    adapter,
    n_steps: steps,
    last_loss: losses.at(-1),
  };
}
