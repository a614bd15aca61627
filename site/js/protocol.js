// What the page and its worker say to each other: a closed set of messages with named
// fields. Both sides check each message before they read it.
//
// page -> worker   call
// worker -> page   files loading stage ready boot_failed | answer failed |
//                  happened: a list of
//                  preparing model steps evaluated paused resumed tokens benchmarked

/**
 * @typedef {"describe" | "add_corpus" | "validate" | "plan" | "train" | "pause"
 *   | "resume" | "stop" | "sample" | "stop_sample" | "logits" | "benchmark"
 *   | "self_test" | "measure" | "kernels" | "skip_tuning" | "forget_kernels" | "free"} Method
 *
 * @typedef {{type: "call", id: number, method: Method, request: object}} Call
 *
 * @typedef {{code: string, message: string, kept?: string, detail?: string}} Fault
 *   an error in words: what happened and what to do, what was kept, and for a fault of
 *   tabgrad itself the traceback
 *
 * @typedef {{adapter: string, software: boolean}} FoundBackend
 * @typedef {{
 *   version: string, build: string, isolated: boolean, threads: number,
 *   memory64: boolean, names: string[], found: Record<string, FoundBackend>,
 *   refused: Record<string, string>, auto: {backend: string, reason: string}
 * }} Facts  what this browser can do; `names` are usable backends, the best first
 *
 * @typedef {{
 *   backend: string, adapter: string, why: string, config: Record<string, any>,
 *   corpus: string, n_params: number, bytes: number, has_validation: boolean
 * }} Model  the model in memory, and which backend runs it
 *
 * @typedef {{
 *   median: number | null, min: number | null, p25: number | null, p75: number | null,
 *   p90: number | null
 * }} Quantiles  over the steps after the first
 *
 * @typedef {{
 *   backend: string, adapter?: string, software?: boolean, error?: string,
 *   first_step_ms?: number | null, ms_per_step?: Quantiles, tokens_per_s?: number | null,
 *   n_steps?: number, is_stopped?: boolean
 * }} BenchmarkRow
 *
 * @typedef {{
 *   op: string, sizes: string, row: string, ms: Record<string, number>,
 *   refused: Record<string, string>
 * }} TunedCall  the row that is used, each right row's time, and why others are not used
 *
 * @typedef {{
 *   why: string, holds_for: string, seconds: number, rows: TunedCall[], not_kept: string
 * }} KernelReport  `why` nothing is tuned, and why results are `not_kept`, or ""
 *
 * @typedef {{type: "files", bytes: Record<string, number>}} Files  what will be loaded
 * @typedef {{type: "loading", file: string, done: number, total: number}} Loading  a file
 *   that was asked for
 * @typedef {{type: "stage", name: "fetching" | "python" | "package" | "backends"}} Stage
 * @typedef {{type: "ready", facts: Facts}} Ready
 * @typedef {{type: "boot_failed", fault: Fault}} BootFailed
 * @typedef {{type: "answer", id: number, value: any}} Answer
 * @typedef {{type: "failed", id: number, fault: Fault}} Failed
 * @typedef {{type: "preparing", what: string, done: number, total: number}} Preparing
 * @typedef {{type: "model"} & Model} ModelEvent
 * @typedef {{
 *   type: "steps", step: number, losses: number[], grad_norms: number[], lr: number,
 *   seconds: number
 * }} Steps  consecutive steps; `step` counts from 1 and is the last one's
 * @typedef {{type: "evaluated", step: number, val_loss: number}} Evaluated
 * @typedef {{type: "paused", step: number}} Paused
 * @typedef {{type: "resumed", step: number}} Resumed
 * @typedef {{type: "tokens", text: string}} Tokens
 * @typedef {{type: "benchmarked", row: BenchmarkRow}} Benchmarked
 *
 * @typedef {Preparing | ModelEvent | Steps | Evaluated | Paused | Resumed | Tokens
 *   | Benchmarked} EngineEvent
 * @typedef {{type: "happened", events: EngineEvent[]}} Happened  in order; what happens
 *   between two of them waits for the next, so that messages stay few
 * @typedef {Files | Loading | Stage | Ready | BootFailed | Answer | Failed | EngineEvent} WorkerEvent
 * @typedef {WorkerEvent | Happened} WorkerMessage
 */

/** The fields of each message and their types. */
const FIELDS = {
  call: { id: "number", method: "string", request: "object" },
  files: { bytes: "object" },
  loading: { file: "string", done: "number", total: "number" },
  stage: { name: "string" },
  ready: { facts: "object" },
  boot_failed: { fault: "object" },
  answer: { id: "number" },
  failed: { id: "number", fault: "object" },
  happened: { events: "object" },
  preparing: { what: "string", done: "number", total: "number" },
  model: { backend: "string", adapter: "string", why: "string", config: "object" },
  steps: { step: "number", losses: "object", grad_norms: "object", lr: "number" },
  evaluated: { step: "number", val_loss: "number" },
  paused: { step: "number" },
  resumed: { step: "number" },
  tokens: { text: "string" },
  benchmarked: { row: "object" },
};

/** @type {ReadonlySet<string>} */
const METHODS = new Set([
  "describe",
  "add_corpus",
  "validate",
  "plan",
  "train",
  "pause",
  "resume",
  "stop",
  "sample",
  "stop_sample",
  "logits",
  "benchmark",
  "self_test",
  "measure",
  "kernels",
  "skip_tuning",
  "forget_kernels",
  "free",
]);

/**
 * Throw unless a message is of a known type with its fields.
 *
 * @param {any} message
 * @throws {TypeError} it is not; a fault of this program, never of its user
 */
function checkFields(message) {
  const fields = Object.entries(FIELDS).find(([type]) => type === message.type)?.[1];
  if (!fields) {
    throw new TypeError(`message of unknown type: ${JSON.stringify(message)}`);
  }
  for (const [name, type] of Object.entries(fields)) {
    if (typeof message[name] !== type || message[name] === null) {
      throw new TypeError(`message ${message.type}: ${name} is not of type ${type}`);
    }
  }
}

/**
 * @param {any} message
 * @returns {Call}
 */
export function checkCall(message) {
  checkFields(message);
  if (message.type !== "call" || !METHODS.has(message.method)) {
    throw new TypeError(`the worker takes no ${message.type} ${message.method}`);
  }
  return message;
}

/**
 * @param {any} message
 * @returns {WorkerMessage}
 */
export function checkEvent(message) {
  checkFields(message);
  if (message.type === "call") {
    throw new TypeError("the page takes no calls");
  }
  return message;
}
