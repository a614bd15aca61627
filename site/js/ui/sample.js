// Sampling: prompt and settings in, streamed text out.

/** @import { Api, RunRequest } from "../api.js" */
/** @import { Store } from "../store.js" */

import { allow, byId, onPress, setText } from "./dom.js";
import { magnitude } from "./format.js";
import * as texts from "./texts.js";

const NUMBERS = {
  max_tokens: "max-tokens",
  temperature: "temperature",
  top_k: "top-k",
  seed: "sample-seed",
};

/** @param {string} id */
function numberOf(id) {
  const { value } = /** @type {HTMLInputElement} */ (byId(id));
  return value.trim() === "" ? null : Number(value);
}

/**
 * @param {Store} store
 * @param {Api} api
 * @param {{request: () => RunRequest}} form settings of an untrained model
 */
export function mountSample(store, api, form) {
  const button = byId("sample-button");
  const cancel = byId("sample-cancel");

  onPress(button, async () => {
    const prompt = /** @type {HTMLTextAreaElement} */ (byId("prompt")).value;
    const entries = Object.entries(NUMBERS).map(([key, id]) => [key, numberOf(id)]);
    const choice = Object.fromEntries(entries.filter(([, value]) => value !== null));
    const { seed: _, backend, ...model } = form.request();
    setText(byId("sample-note"), "");
    const isFirst = store.model === null;
    const result = await api.sample({
      ...model,
      ...(isFirst ? { backend } : {}),
      ...choice,
      prompt,
    });
    setText(byId("sample-note"), notes(result, choice).join(" "));
  });
  onPress(cancel, () => api.stopSample());

  store.subscribe(["sample", "state", "boot", "benchmark"], () => {
    const { sample } = store;
    setText(byId("sample-prompt"), sample.prompt);
    setText(byId("sample-text"), sample.text);
    byId("sample-output").classList.toggle("empty", !sample.text && !sample.prompt);
    allow(button, whyNot(store));
    allow(cancel, sample.isRunning ? null : texts.WHY_NOT.noSample);
  });
}

/** @param {Store} store */
function whyNot(store) {
  if (!store.facts) {
    return texts.WHY_NOT.loading;
  }
  if (store.sample.isRunning) {
    return texts.WHY_NOT.sampling;
  }
  return store.benchmark.isRunning ? texts.WHY_NOT.benchmark : null;
}

/**
 * @param {any} result
 * @param {Record<string, number>} asked
 */
function notes(result, asked) {
  const said = [
    `${result.n_tokens} tokens, ${magnitude(result.tokens_per_s)} a second.`,
  ];
  if (result.trained_steps === 0) {
    said.push("The model is untrained: this is noise.");
  }
  if (asked.temperature === 0) {
    said.push("Temperature 0: greedy, always the likeliest token.");
  }
  if (asked.top_k > result.top_k) {
    said.push(`Top-k is ${result.top_k}, all tokens there are.`);
  }
  if (result.unknown) {
    const named = [...result.unknown].map((c) => `“${c}”`).join(" ");
    said.push(`Left out of the prompt, as the text never has them: ${named}.`);
  }
  return said;
}
