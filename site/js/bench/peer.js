// A page for benchmarks that hold browser systems side by side: it trains one model from
// the URL, in the setting that they share, and leaves `window.RESULT` or `window.ERROR`.
//
// The setting (token stream, batches, initial weights) is py/tabgrad/train/peer.py.
// `ms_per_step` waits for each loss before the next step begins, as all such pages do;
// `ms_per_step_pipelined` keeps steps in flight, as training does, and reads every loss.

import { Api } from "../api.js";
import { Store } from "../store.js";

const query = new URLSearchParams(location.search);

/**
 * @param {string} name
 * @param {number} otherwise
 */
function number(name, otherwise) {
  return query.has(name) ? Number(query.get(name)) : otherwise;
}

async function measure() {
  const task = query.get("task") ?? "train";
  if (task !== "train") {
    throw new Error(`task: got ${task}, wanted train`);
  }
  const config = {
    n_layer: number("layers", 2),
    n_embd: number("d", 64),
    n_head: number("heads", 4),
    block_size: number("ctx", 64),
    batch_size: number("batch", 4),
    vocab_size: number("vocab", 65),
    lr: number("lr", 1e-3),
    weight_decay: number("wd", 0.1),
    grad_clip: 0,
  };
  const api = new Api(new Store());
  api.start();
  const facts = await api.ready;
  const result = await api.measure({
    what: "peer",
    config,
    backend: query.get("backend") ?? "webgpu",
    steps: number("steps", 20),
    warm_up: number("warmup", 5),
    seed: number("seed", 1337),
  });
  const { backend, ...rest } = result;
  const { version, threads } = facts;
  const cfg = { ...config, steps: result.ms_per_step.n };
  return {
    ...{ peer: "tabgrad", version, backend, actual_backend: backend, task, cfg },
    ...{ coi: crossOriginIsolated, cores: navigator.hardwareConcurrency, threads },
    ...rest,
  };
}

const page = /** @type {any} */ (window);
try {
  page.RESULT = await measure();
} catch (error) {
  page.ERROR = String(error instanceof Error ? (error.stack ?? error) : error);
}
if (query.has("post")) {
  const body = JSON.stringify(page.RESULT ?? { error: page.ERROR });
  await fetch("result", { method: "POST", body });
}
