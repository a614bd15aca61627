// The settings of a run, checked by the engine's own validator as they are typed.

/** @import { Api, RunRequest } from "../api.js" */
/** @import { Store } from "../store.js" */

import { DEFAULT_PRESET, DEFAULTS, PRESETS } from "../presets.js";
import { mountCorpus } from "./corpus.js";
import { byId, element, keepShown, setText } from "./dom.js";
import { count, magnitude, size } from "./format.js";

const SETTLE_MS = 150;
const BESIDE_CONFIG = ["steps", "seed", "eval_every"];
const SHAPE = ["n_layer", "n_head", "n_embd", "block_size", "batch_size", "tokenizer"];
const WORDS = ["schedule", "tokenizer"];
const NUMBERS = [
  ...BESIDE_CONFIG,
  "lr",
  "n_layer",
  "n_head",
  "n_embd",
  "block_size",
  "batch_size",
  "warmup_steps",
  "min_lr",
  "weight_decay",
  "grad_clip",
];

/**
 * @param {string} key a hyperparameter
 * @returns {HTMLInputElement}
 */
const input = (key) => byId(`field-${key}`);

/** @param {string} key */
function entered(key) {
  const text = input(key).value.trim();
  return text === "" || WORDS.includes(key) ? text : Number(text);
}

/**
 * Show a message beside a field, or take it away.
 *
 * @param {string} key
 * @param {string} message
 */
function showFault(key, message) {
  const fault = byId(`fault-${key}`);
  setText(fault, message);
  fault.hidden = !message;
  const field = key === "corpus" ? byId("corpus") : input(key);
  field.setAttribute("aria-invalid", String(Boolean(message)));
}

/**
 * @param {Store} store
 * @param {Api} api
 */
export function mountForm(store, api) {
  const preset = /** @type {HTMLSelectElement} */ (byId("preset"));
  const backend = /** @type {HTMLSelectElement} */ (byId("backend-choice"));
  const threads = /** @type {HTMLSelectElement} */ (byId("threads"));
  const keys = [...NUMBERS, ...WORDS];
  /** @type {Record<string, string>} */
  let faults = {};
  /** @type {Set<() => void>} */
  const listeners = new Set();
  let timer = 0;
  let round = 0;

  /** @returns {Record<string, number | string>} */
  function base() {
    const chosen = PRESETS[preset.value];
    return { ...DEFAULTS, ...chosen, tokenizer: "byte" };
  }

  function fill() {
    const values = base();
    for (const key of keys) {
      input(key).value = String(values[key]);
    }
  }

  function changedKeys() {
    const values = base();
    return keys.filter((key) => entered(key) !== values[key]);
  }

  /** @returns {RunRequest} */
  function request() {
    const changed = changedKeys().filter(
      (k) => ![...BESIDE_CONFIG, "tokenizer"].includes(k),
    );
    return {
      preset: preset.value,
      config: Object.fromEntries(changed.map((key) => [key, entered(key)])),
      ...Object.fromEntries(BESIDE_CONFIG.map((key) => [key, entered(key)])),
      tokenizer: input("tokenizer").value,
      backend: backend.value,
      ...(threads.value === "all" ? {} : { threads: Number(threads.value) }),
      corpus: corpus.request(),
    };
  }

  /** @param {Record<string, string>} found */
  function show(found) {
    faults = found;
    const fileFault = corpus.fault();
    if (fileFault) {
      faults = { ...found, corpus: fileFault };
    }
    for (const key of [...keys, "corpus"]) {
      showFault(key, faults[key] ?? "");
    }
    for (const listener of listeners) {
      listener();
    }
  }

  async function check() {
    round += 1;
    const mine = round;
    if (!store.facts) {
      const wrong = keys.filter((key) => !input(key).validity.valid);
      show(Object.fromEntries(wrong.map((key) => [key, input(key).validationMessage])));
      return;
    }
    const found = await api.validate(request());
    if (mine === round) {
      show(found.faults);
      drawPlan(found.plan);
    }
  }

  function edited() {
    const changed = changedKeys();
    byId("custom").hidden = changed.length === 0;
    setText(
      byId("custom-text"),
      `Custom (from ${preset.value}): ${changed.join(", ")}`,
    );
    if (!store.facts) {
      const isKnown = !changed.some((key) => SHAPE.includes(key));
      drawPlan(isKnown ? PRESETS[preset.value] : null);
    }
    clearTimeout(timer);
    timer = setTimeout(() => check().catch(keepShown), SETTLE_MS);
  }

  for (const name of Object.keys(PRESETS)) {
    const { n_params } = PRESETS[name];
    const label = `${name} – ${magnitude(n_params)} parameters`;
    preset.append(element("option", { value: name }, [label]));
  }
  preset.value = DEFAULT_PRESET;
  const corpus = mountCorpus(edited);
  const reset = () => {
    fill();
    edited();
  };
  preset.addEventListener("change", reset);
  byId("custom-undo").addEventListener("click", reset);
  byId("settings").addEventListener("input", edited);
  byId("settings").addEventListener("submit", (event) => event.preventDefault());
  reset();
  store.subscribe(["boot"], () => {
    if (store.facts) {
      drawBackends(backend, store);
      drawThreads(threads, store.facts.threads);
      edited();
    }
  });
  store.subscribe(["state"], () => {
    const isLocked = store.isBusy();
    /** @type {HTMLFieldSetElement} */ (byId("settings-fields")).disabled = isLocked;
    byId("locked").hidden = !isLocked;
  });

  return {
    request,
    fault: () => Object.values(faults)[0] ?? null,
    /** @param {() => void} listener */
    onFault: (listener) => listeners.add(listener),
  };
}

/**
 * @param {{n_params: number, bytes: number, dispatches?: number,
 *   has_validation?: boolean} | null} plan
 */
function drawPlan(plan) {
  setText(byId("plan-params"), plan ? count(plan.n_params) : "–");
  setText(byId("plan-bytes"), plan ? size(plan.bytes) : "–");
  byId("plan-no-validation").hidden = plan?.has_validation !== false;
}

/**
 * Offer each number of threads; all of them unless another was chosen.
 *
 * @param {HTMLSelectElement} select
 * @param {number} most
 */
function drawThreads(select, most) {
  const chosen = select.value;
  const counts = Array.from({ length: most }, (_, i) => String(i + 1));
  const values = ["all", ...counts];
  select.replaceChildren(
    ...values.map((value) => element("option", { value }, [value])),
  );
  select.value = values.includes(chosen) ? chosen : "all";
}

/**
 * Mark the backends that this browser lacks; choosing one still says why.
 *
 * @param {HTMLSelectElement} select
 * @param {Store} store
 */
function drawBackends(select, { facts }) {
  for (const option of select.options) {
    const reason = facts?.refused[option.value];
    option.disabled = Boolean(reason);
  }
  const list = byId("refused");
  const rows = Object.entries(facts?.refused ?? {}).map(([name, reason]) =>
    element("li", { "data-backend": name }, [`${name}: ${reason}`]),
  );
  list.replaceChildren(...rows);
  list.hidden = rows.length === 0;
}
