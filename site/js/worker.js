// The engine's worker: boots Python, then answers the page's calls with it.

/** @import { Call, EngineEvent, Facts, Fault, Method, WorkerMessage } from "./protocol.js" */
/** @import { Build } from "./assets.js" */

import {
  AssetError,
  bootFiles,
  CORPUS,
  countFetches,
  PACKAGES,
  ROOT,
  readBuild,
} from "./assets.js";
import { openGpu } from "./gpu.js";
import { browserName, KernelStore } from "./kernel_store.js";
import { Outbox } from "./outbox.js";
import { openWasm } from "./players/wasm.js";
import { hasMemory64 } from "./players/wasm_memory.js";
import { WebgpuPlayer } from "./players/webgpu.js";
import { timeSteps } from "./players/webgpu_steps.js";
import { checkCall } from "./protocol.js";

const PYODIDE = new URL("pyodide/", ROOT);
const ENGINE = new URL("engine/", ROOT);
const LOADING_INTERVAL_MS = 100;

/** @typedef {{call: (method: Method, request: string) => Promise<string>}} Engine */

/** @param {WorkerMessage} message */
const post = (message) => self.postMessage(message);
const outbox = new Outbox(post);

/** @param {object} error */
function faultOf(error) {
  const code = error instanceof AssetError ? error.code : "TAB-BOOT";
  const message = error instanceof Error ? error.message : String(error);
  return { code, message };
}

/**
 * Report bytes as they come, not more often than the page can draw.
 *
 * @returns {(file: string, done: number, total: number) => void}
 */
function loadingReporter() {
  /** @type {Map<string, number>} */
  const sentAt = new Map();
  return (file, done, total) => {
    const now = performance.now();
    if (done >= total || now - (sentAt.get(file) ?? 0) >= LOADING_INTERVAL_MS) {
      sentAt.set(file, now);
      post({ type: "loading", file, done, total });
    }
  };
}

/**
 * @param {Build} build
 * @param {(file: string, done: number, total: number) => void} report
 */
async function startPython(build, report) {
  const modules = ["pyodide/pyodide.mjs", "pyodide/pyodide.asm.mjs"];
  const [pyodideModule] = await Promise.all(
    modules.map(async (file) => {
      report(file, 0, build.bytes[file]);
      const module = await importModule(file);
      report(file, build.bytes[file], build.bytes[file]);
      return module;
    }),
  );
  post({ type: "stage", name: "python" });
  const pyodide = await pyodideModule.loadPyodide({
    indexURL: PYODIDE.href,
    packages: PACKAGES,
  });
  post({ type: "stage", name: "package" });
  const micropip = pyodide.pyimport("micropip");
  await micropip.install(new URL(build.wheel, ROOT).href);
  micropip.destroy();
  return pyodide;
}

/** @param {string} file */
async function importModule(file) {
  try {
    return await import(new URL(file, ROOT).href);
  } catch (error) {
    throw new AssetError(file, `it is no module that this browser runs (${error})`);
  }
}

/**
 * Ask the engine for one method's value.
 *
 * @param {Engine} engine
 * @param {Method} method
 * @param {object} request
 * @returns {Promise<{value: any} | {error: Fault}>}
 */
async function ask(engine, method, request) {
  return JSON.parse(await engine.call(method, JSON.stringify(request)));
}

/**
 * Hold the lock of this worker's name as long as it lives: that is how the page learns
 * of its end.
 *
 * @returns {Promise<void>} until it is held
 */
function holdLock() {
  return new Promise((resolve) => {
    const forever = () => {
      resolve();
      return new Promise(() => undefined);
    };
    navigator.locks ? navigator.locks.request(self.name, forever) : resolve();
  });
}

/** @returns {Promise<Engine>} */
async function boot() {
  await holdLock();
  post({ type: "stage", name: "fetching" });
  const build = await readBuild();
  const sizes = bootFiles(build).map((file) => [file, build.bytes[file]]);
  post({ type: "files", bytes: Object.fromEntries(sizes) });
  /** @type {(error: AssetError) => void} */
  let fail = () => undefined;
  const failed = new Promise((_, reject) => {
    fail = reject; // a caller in Pyodide may wait for ever after a failed fetch
  });
  const stopCounting = countFetches(build.bytes, loadingReporter(), fail);
  try {
    const text = fetch(new URL(CORPUS, ROOT)).then((response) => response.text());
    const pyodide = await Promise.race([failed, startPython(build, loadingReporter())]);
    return await startEngine(pyodide, build, await text);
  } finally {
    stopCounting();
  }
}

/**
 * Wait for a timer. Pyodide posts itself a message for each callback that Python
 * schedules, and runs all callbacks at the first one: while Python only yields, those
 * that are left pile up before the page's own messages. During a timer they run out.
 *
 * @returns {Promise<void>}
 */
function letMessagesThrough() {
  return new Promise((resolve) => setTimeout(resolve));
}

/** What the WebGPU backend runs on, or why there is none. */
async function openGpuWithPlayer() {
  const opened = await openGpu();
  if (!opened.ok) {
    return opened;
  }
  const { device } = opened;
  /** @param {string} sources */
  const steps = (sources) => timeSteps(device, sources);
  return { ...opened, player: new WebgpuPlayer(device), timeSteps: steps };
}

/**
 * @param {any} pyodide
 * @param {Build} build
 * @param {string} text the built-in corpus
 * @returns {Promise<Engine>}
 */
async function startEngine(pyodide, build, text) {
  post({ type: "stage", name: "backends" });
  const bridge = pyodide.pyimport("tabgrad.bridge");
  const host = {
    /** @param {string} event */
    emit: (event) => outbox.add(/** @type {EngineEvent} */ (JSON.parse(event))),
    breathe: letMessagesThrough,
    openGpu: openGpuWithPlayer,
    build: build.build,
    browserName,
    kernelStore: new KernelStore(),
    /**
     * @param {number} arenaBytes
     * @param {number} threadBytes
     * @param {number} [threads] all by default
     * @param {import("./players/wasm_memory.js").Build} [wasmBuild]
     * @param {number} [tile] the fastest by default
     */
    async openWasm(arenaBytes, threadBytes, threads, wasmBuild, tile) {
      if (build.engine_missing) {
        const { reason, remedy } = build.engine_missing;
        throw new Error(`this build has no CPU engine: ${reason}; ${remedy}`);
      }
      return openWasm({
        engineUrl: ENGINE.href,
        arenaBytes,
        threadBytes,
        ...(threads ? { threads } : {}),
        ...(wasmBuild ? { build: wasmBuild } : {}),
        ...(tile === undefined ? {} : { tile }),
      });
    },
  };
  const engine = bridge.start(host);
  bridge.destroy();
  await ask(engine, "add_corpus", { name: "TinyShakespeare", text, is_builtin: true });
  const described = await ask(engine, "describe", {});
  if ("error" in described) {
    throw new Error(described.error.message);
  }
  /** @type {Facts} */
  const facts = {
    version: build.version,
    build: build.build,
    isolated: self.crossOriginIsolated,
    memory64: hasMemory64(),
    ...described.value,
  };
  post({ type: "ready", facts });
  return engine;
}

const booted = boot();
booted.catch((error) => post({ type: "boot_failed", fault: faultOf(error) }));

/** @param {Call} call */
async function answer({ id, method, request }) {
  const engine = await booted;
  const got = await ask(engine, method, request);
  outbox.flush(); // what happened before the answer arrives before it
  if ("error" in got) {
    post({ type: "failed", id, fault: got.error });
  } else {
    post({ type: "answer", id, value: got.value });
  }
}

self.addEventListener("message", (/** @type {MessageEvent} */ event) => {
  const call = checkCall(event.data);
  answer(call).catch(reportError); // Python itself failed: the page starts another
});
