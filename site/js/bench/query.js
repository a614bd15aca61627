// What a query of the bench page asks for; docs/bench.md lists its values.

import { TabgradError } from "../client.js";

const SECTIONS = /** @type {const} */ ([
  "kernels",
  "ops",
  "train",
  "backends",
  "variants",
  "growth",
  "lab",
  "cpu",
]);
const KERNELS = /** @type {const} */ (["auto", "base"]);
const DEFAULTS = {
  presets: ["Tiny", "Small", "Medium", "Large", "XL", "Huge", "Massive", "Mega"],
  sizes: [256, 512, 1024, 2048, 4096],
  forms: ["matmul_nn", "matmul_nt", "matmul_tn"],
  steps: 200,
  growthSteps: 2000,
};
const KEYS = [
  ...["auto", "sections", "presets", "config", "tokenizer", "characters", "sizes"],
  ...["forms", "steps", "growth_steps", "kernels", "backends", "ops", "experiments"],
  ...["threads", "seconds"],
];
const FIRST_CHARACTER = 0x10000; // past it, every code point is a character
const MOST_CHARACTERS = 0x100000; // which are all there are from there on
const REPEATS = 4;
const CPU_DEFAULTS = {
  presets: ["Tiny", "Small", "Medium", "Large", "XL"],
  sizes: [256, 512, 1024, 2048],
};

/**
 * @typedef {(typeof SECTIONS)[number]} Section
 * @typedef {{
 *   config?: Record<string, any>, tokenizer?: string, corpus?: {text: string}
 * }} Changes  of each preset
 * @typedef {{
 *   changes: Changes, sections: Section[], presets: string[], sizes: number[], forms: string[],
 *   steps: number, growthSteps: number, kernels: "auto" | "base", backends: string[],
 *   ops: string[] | null, experiments: string[] | null, seconds: number, cpu: {presets: string[], sizes: number[], threads?: number}
 * }} Wanted  after `seconds` no part is begun
 */

/**
 * @param {URLSearchParams} query `auto` or `sections`: names with commas, or "all"
 * @returns {Wanted} names of presets, forms, backends and experiments are the engine's
 *   to refuse, where they are used
 * @throws {TabgradError} a key is not known or there twice, or a value is none of those that it takes
 */
export function wantedOf(query) {
  checkKeys(query);
  /** @param {string} key @param {string[]} otherwise */
  const list = (key, otherwise) => query.get(key)?.split(",") ?? otherwise;
  /** @param {string} key @param {number} otherwise */
  const count = (key, otherwise) => countOf(key, query.get(key) ?? `${otherwise}`);
  /** @param {number[]} otherwise */
  const sizes = (otherwise) =>
    list("sizes", otherwise.map(String)).map((text) =>
      countOf("sizes", text, "whole numbers"),
    );
  return {
    sections: sectionsOf(list("auto", list("sections", ["all"]))),
    seconds: secondsOf(query.get("seconds") ?? "Infinity"),
    presets: list("presets", DEFAULTS.presets),
    changes: {
      ...(query.has("characters") ? manyCharacters(count("characters", 1)) : {}),
      ...(query.has("tokenizer") ? { tokenizer: query.get("tokenizer") ?? "" } : {}),
      ...(query.has("config") ? { config: fieldsOf(query.get("config") ?? "") } : {}),
    },
    sizes: sizes(DEFAULTS.sizes),
    forms: list("forms", DEFAULTS.forms),
    steps: count("steps", DEFAULTS.steps),
    growthSteps: count("growth_steps", DEFAULTS.growthSteps),
    kernels: nameOf("kernels", query.get("kernels") ?? "auto", KERNELS),
    backends: list("backends", ["wasm", "webgpu"]),
    ops: query.get("ops")?.split(",") ?? null,
    experiments: query.get("experiments")?.split(",") ?? null,
    cpu: {
      presets: list("presets", CPU_DEFAULTS.presets),
      sizes: sizes(CPU_DEFAULTS.sizes),
      ...(query.has("threads") ? { threads: count("threads", 1) } : {}),
    },
  };
}

/** @param {URLSearchParams} query */
function checkKeys(query) {
  for (const key of query.keys()) {
    nameOf("query", key, KEYS);
    if (query.getAll(key).length > 1) {
      throw fault(key, query.getAll(key).join(" and "), "one value");
    }
  }
}

/**
 * @param {string} config JSON; its fields are the engine's to refuse
 * @returns {Record<string, any>}
 */
function fieldsOf(config) {
  /** @type {any} */
  let fields = null;
  try {
    fields = JSON.parse(config);
  } catch (error) {
    throw fault("config", config, `JSON (${error})`);
  }
  if (fields?.constructor !== Object) {
    throw fault("config", config, 'an object, such as {"n_embd": 100}');
  }
  return fields;
}

/**
 * A vocabulary of any size: a text of so many different characters, in order and then in
 * strides of two and more, so that the next one is not always told by the last.
 *
 * @param {number} count
 * @returns {Changes}
 */
function manyCharacters(count) {
  if (count > MOST_CHARACTERS) {
    throw fault("characters", `${count}`, `at most ${MOST_CHARACTERS}`);
  }
  const text = Array.from({ length: REPEATS * count }, (_, i) => {
    const nth = (i * (1 + Math.floor(i / count))) % count;
    return String.fromCodePoint(FIRST_CHARACTER + nth);
  });
  return { tokenizer: "char", corpus: { text: text.join("") } };
}

/** @param {string[]} names @returns {Section[]} */
function sectionsOf(names) {
  const known = /** @type {const} */ ([...SECTIONS, "all"]);
  const asked = names.map((name) => nameOf("sections", name, known));
  return asked.includes("all") ? [...SECTIONS] : asked.filter((name) => name !== "all");
}

/**
 * @template {string} T
 * @param {string} key
 * @param {string} text
 * @param {readonly T[]} known
 * @returns {T}
 */
function nameOf(key, text, known) {
  const found = known.find((name) => name === text);
  if (!found) {
    const most = known.slice(0, -1).join(", ");
    throw fault(key, text, `${most} or ${known[known.length - 1]}`);
  }
  return found;
}

/**
 * @param {string} key
 * @param {string} text
 * @param {string} what
 */
function countOf(key, text, what = "a whole number") {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw fault(key, text, `${what} from 1 on`);
  }
  return value;
}

/** @param {string} text */
function secondsOf(text) {
  const value = Number(text);
  if (!(value > 0)) {
    throw fault("seconds", text, "a number above 0");
  }
  return value;
}

/** @param {string} key @param {string} got @param {string} wanted */
function fault(key, got, wanted) {
  const message = `${key}: got ${got || "nothing"}, wanted ${wanted}`;
  return new TabgradError({ code: "TAB-CONFIG", message });
}
