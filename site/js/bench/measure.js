// What the bench measures, section by section: a plain object that JSON holds.

/** @import { Api } from "../api.js" */
/** @import { Section, Wanted } from "./query.js" */

import { measureCpu } from "./cpu.js";

const DRIFT_STEPS = 50;
// Chunks of steps grow to their full length within the first steps: a fast preset takes
// more steps than asked for, so that these do not count.
const FIRST_STEPS = 20;
const STEADY_MS = 2000;
const MAX_STEADY_STEPS = 3000;
const SOFTWARE_SHRINK = 256; // times less work in the probes of a software adapter

/** @typedef {Record<string, any>} Report */

/**
 * Measure all that is wanted; what fails is noted in its place.
 *
 * @param {Api} api started
 * @param {Wanted} wanted
 * @param {(report: Report) => void} onPart called after each part
 * @returns {Promise<Report>}
 */
export async function measureAll(api, wanted, onPart) {
  const facts = await api.ready;
  const { version, build, adapter, adapters, threads } = facts;
  /** @type {Report} */
  const report = {
    version,
    build,
    adapter,
    is_software: adapters.webgpu?.software ?? null,
    browser: await browser(),
    threads,
    date: new Date().toISOString(),
    query: globalThis.location.search,
  };
  const part = partsOf(report, onPart, wanted.seconds);
  const shrink = report.is_software ? SOFTWARE_SHRINK : 1;
  if (wanted.sections.some((section) => section !== "cpu")) {
    await part(["peaks"], () => api.measure({ what: "peaks", size: shrink }));
  }
  for (const section of wanted.sections) {
    await RUN[section](api, wanted, part);
  }
  return report;
}

/** @returns {Promise<string>} */
async function browser() {
  const agent = /** @type {any} */ (navigator).userAgentData;
  const told = await agent?.getHighEntropyValues(["fullVersionList"]);
  const full = told?.fullVersionList?.map((/** @type {any} */ { brand, version }) =>
    [brand, version].join(" "),
  );
  return full?.length ? full.join(", ") : navigator.userAgent;
}

/** @typedef {{preset: string} & import("./query.js").Changes} Model */
/** @typedef {(path: string[], run: () => Promise<any>) => Promise<any>} Part */

/**
 * @param {Report} report
 * @param {(report: Report) => void} onPart
 * @param {number} seconds after which no part is begun
 * @returns {Part} runs something and notes its result or error under a name in a name
 */
function partsOf(report, onPart, seconds) {
  const end = performance.now() + seconds * 1000;
  return async (path, run) => {
    const start = performance.now();
    if (start > end) {
      report.left_out = [...(report.left_out ?? []), path.join("/")];
      return undefined;
    }
    const result = await run().catch((error) => ({ error: String(error.message) }));
    const last = path[path.length - 1];
    let at = report;
    for (const key of path.slice(0, -1)) {
      at[key] ??= {};
      at = at[key];
    }
    at[last] = Array.isArray(result)
      ? result
      : { ...result, wall_s: (performance.now() - start) / 1000 };
    onPart(report);
    return result;
  };
}

/** @type {Record<Section, (api: Api, wanted: Wanted, part: Part) => Promise<void>>} */
const RUN = {
  async kernels(api, { sizes, forms }, part) {
    for (const size of sizes) {
      for (const op of forms) {
        await part(["kernels", `${op} ${size}`], () =>
          api.measure({ what: "matmul", op, size }),
        );
      }
    }
  },
  async ops(api, { presets, changes, kernels }, part) {
    for (const preset of presets) {
      const model = { preset, ...changes };
      await part(["ops", preset], () =>
        api.measure({ what: "ops", ...model, kernels }),
      );
    }
  },
  async train(api, { presets, changes, steps, kernels }, part) {
    for (const preset of presets) {
      const model = { preset, ...changes };
      await part(["train", preset], () => trained(api, model, steps, kernels));
    }
  },
  async backends(api, { presets, changes, backends, kernels }, part) {
    for (const preset of presets) {
      const model = { preset, ...changes };
      await part(["backends", preset], () => compared(api, model, backends, kernels));
    }
  },
  async variants(api, { presets: [preset], changes, ops }, part) {
    const model = { preset, ...changes };
    const wanted = { ...model, steps: DRIFT_STEPS, eval_every: 0 };
    const { losses } = await api.train({ ...wanted, backend: "wasm" });
    const { rows } = await api.measure({ what: "rows", ...model });
    for (const [op, names] of Object.entries(rows)) {
      for (const name of ops && !ops.includes(op) ? [] : names) {
        await part(["variants", `${op} ${name}`], async () => {
          const kernels = { [op]: name };
          const run = await api.train({ ...wanted, backend: "webgpu", kernels });
          return { drift: drift(run.losses, losses), ms: run.ms_per_step.median };
        });
      }
    }
  },
  async growth(api, { presets: [preset], changes, growthSteps, kernels }, part) {
    const model = { preset, ...changes };
    await part(["growth", preset], () => grown(api, model, growthSteps, kernels));
  },
  async lab(api, { experiments }, part) {
    const { adapters } = await api.ready;
    const size = adapters.webgpu?.software ? SOFTWARE_SHRINK : 1;
    const { names } = await api.measure({ what: "lab" });
    for (const op of experiments ?? names) {
      await part(["lab", op], () => api.measure({ what: "lab", op, size }));
    }
  },
  cpu: measureCpu,
};

/**
 * @param {Api} api
 * @param {Model} model
 * @param {number} steps
 * @param {"auto" | "base"} kernels
 */
async function trained(api, model, steps, kernels) {
  const wanted = { ...model, kernels, backend: "webgpu", eval_every: 0 };
  const first = await api.train({ ...wanted, steps: FIRST_STEPS });
  const tuning = await api.kernels();
  const fast = Math.ceil(STEADY_MS / first.ms_per_step.median);
  const n = Math.max(steps, Math.min(fast, MAX_STEADY_STEPS));
  const run = await api.train({ ...wanted, steps: n + 1 });
  const { losses, grad_norms: _, val_losses: __, val_steps: ___, ...row } = run;
  const { seconds, rows } = tuning;
  const tuned = { tuning_s: seconds, tuned: rows };
  return { ...row, n_steps: n, last_loss: losses.at(-1), ...tuned };
}

/**
 * The page's memory, its workers' too, after a short run and after a long one.
 *
 * @param {Api} api
 * @param {Model} model
 * @param {number} steps of the long run
 * @param {"auto" | "base"} kernels
 */
async function grown(api, model, steps, kernels) {
  const wanted = { ...model, kernels, backend: "webgpu", eval_every: 0 };
  const { measureUserAgentSpecificMemory: measure } = /** @type {any} */ (performance);
  if (!measure) {
    throw new Error("this browser does not tell the memory of a page and its workers");
  }
  await api.train({ ...wanted, steps: FIRST_STEPS });
  const before = await measure.call(performance);
  await api.train({ ...wanted, steps });
  const after = await measure.call(performance);
  return { steps, before_bytes: before.bytes, after_bytes: after.bytes };
}

/**
 * @param {number[]} losses
 * @param {number[]} wanted
 * @returns {number} the largest relative difference
 */
function drift(losses, wanted) {
  return Math.max(...losses.map((loss, i) => Math.abs(loss / wanted[i] - 1)));
}

/**
 * @param {Api} api
 * @param {Model} model
 * @param {string[]} backends the first is what the others are held to
 * @param {"auto" | "base"} kernels
 */
async function compared(api, model, backends, kernels) {
  /** @type {Report} */
  const rows = {};
  for (const backend of backends) {
    const wanted = { ...model, kernels, backend, steps: DRIFT_STEPS, eval_every: 0 };
    const { ms_per_step, losses, tokens_per_s } = await api.train(wanted);
    rows[backend] = { ms_per_step, tokens_per_s, losses };
  }
  const base = rows[backends[0]];
  for (const backend of backends) {
    const { losses, ms_per_step } = rows[backend];
    rows[backend].drift = drift(losses, base.losses);
    rows[backend].speed_up = base.ms_per_step.median / ms_per_step.median;
  }
  return rows;
}
