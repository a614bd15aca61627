// What the page's scripts may ask: values that JSON can hold. Any other would arrive as
// null, and so as a default that no one asked for.

/** @import { Fault } from "./protocol.js" */

const TEXTS = ["prompt", "text"];

/** @param {unknown} value */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * @param {string} key
 * @param {unknown} value
 * @returns {string | null} what is wrong with a value, or with one inside of it
 */
function valueFault(key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return `${key}: got ${value}, wanted a finite number`;
  }
  if (["bigint", "function", "symbol"].includes(typeof value)) {
    return `${key}: got a ${typeof value}, wanted what JSON can hold`;
  }
  if (key === "seed" && Number(value) > Number.MAX_SAFE_INTEGER) {
    const most = `at most ${Number.MAX_SAFE_INTEGER}, as larger ones are rounded`;
    return `seed: got ${value}, wanted ${most}`;
  }
  if (typeof value === "object" && value !== null) {
    return firstFault(value);
  }
  return null;
}

/**
 * @param {object} values
 * @returns {string | null}
 */
function firstFault(values) {
  for (const [key, value] of Object.entries(values)) {
    const fault = valueFault(key, value);
    if (fault) {
      return fault;
    }
  }
  return null;
}

/**
 * @param {any} request of `sample` or `logits`, where it has texts
 * @returns {string | null}
 */
function textFault(request) {
  const key = TEXTS.find(
    (name) => !["string", "undefined"].includes(typeof request[name]),
  );
  return key ? `${key}: got ${shown(request[key])}, wanted a text` : null;
}

/**
 * @param {unknown} corpus
 * @returns {string | null}
 */
function corpusFault(corpus) {
  const text = /** @type {any} */ (corpus)?.text;
  if (corpus == null || typeof corpus === "string" || typeof text === "string") {
    return null;
  }
  return `corpus: got ${shown(corpus)}, wanted tinyshakespeare or {text: "..."}`;
}

/**
 * @param {any} request of a method of the API
 * @returns {Fault | null} null when it can cross to the engine
 */
export function requestFault(request) {
  if (!isObject(request)) {
    const message = `request: got ${shown(request)}, wanted an object`;
    return { code: "TAB-CONFIG", message };
  }
  const message = firstFault(request) ?? textFault(request);
  if (message) {
    return { code: "TAB-CONFIG", message };
  }
  const about = corpusFault(request.corpus);
  return about ? { code: "TAB-CORPUS", message: about } : null;
}
