// Finds a WebGPU adapter and opens a device on it, or says in words why there is none.

/**
 * @typedef {object} OpenedGpu
 * @property {true} ok
 * @property {string} adapterName for people
 * @property {boolean} isSoftware the adapter computes on the processor
 * @property {GPUDevice} device
 * @property {string[]} features of the device
 * @property {Record<string, number>} limits of the device
 */

/**
 * @typedef {object} NoGpu
 * @property {false} ok
 * @property {string} reason what is missing and what to do, as a sentence without a stop
 */

const PROBE_LIMIT_MS = 5000;
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|warp|basic render|software/i;
const WANTED_FEATURES = ["shader-f16", "subgroups", "timestamp-query"];
// The defaults are far below what adapters have; what is not named here stays default.
const WANTED_LIMITS = /** @type {const} */ ([
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
]);
const REPORTED_LIMITS = /** @type {const} */ ([
  ...WANTED_LIMITS,
  "maxComputeWorkgroupsPerDimension",
]);

/** Why there is no WebGPU; its message is for people. */
class Unavailable extends Error {}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 * @returns {Promise<T>} the same, or a rejection after the limit
 */
function inTime(promise, what) {
  return new Promise((resolve, reject) => {
    const seconds = PROBE_LIMIT_MS / 1000;
    const late = new Unavailable(`${what} gave no answer within ${seconds} s`);
    const timer = setTimeout(reject, PROBE_LIMIT_MS, late);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** @returns {Promise<GPUAdapter>} */
async function findAdapter() {
  if (!globalThis.isSecureContext) {
    throw new Unavailable(
      "this page is not in a secure context; open it over https or on localhost",
    );
  }
  if (!navigator.gpu) {
    throw new Unavailable(
      "this browser has no WebGPU; use a current Chrome, Edge, Safari or Firefox",
    );
  }
  const options = { powerPreference: /** @type {const} */ ("high-performance") };
  const asked = navigator.gpu.requestAdapter(options);
  const adapter = await inTime(asked, "the browser's search for a GPU");
  if (!adapter) {
    throw new Unavailable(
      "the browser offers no GPU adapter; turn on hardware acceleration in its " +
        "settings, or update the graphics driver",
    );
  }
  return adapter;
}

/**
 * @param {GPUAdapter} adapter
 * @returns {string}
 */
function nameOf(adapter) {
  const { vendor, architecture, device, description } = adapter.info;
  const words = [vendor, architecture, description || device].filter(Boolean);
  return words.join(" ") || "unnamed GPU";
}

/**
 * @param {GPUAdapter} adapter
 * @returns {Promise<GPUDevice>} with the adapter's own limits where they matter here
 */
function openDevice(adapter) {
  /** @type {Record<string, number>} */
  const requiredLimits = {};
  for (const name of WANTED_LIMITS) {
    requiredLimits[name] = adapter.limits[name];
  }
  const features = WANTED_FEATURES.filter((name) => adapter.features.has(name));
  const requiredFeatures = /** @type {GPUFeatureName[]} */ (features);
  const asked = adapter.requestDevice({ requiredFeatures, requiredLimits });
  return inTime(asked, `the GPU ${nameOf(adapter)}`);
}

/**
 * Open a device on the browser's adapter.
 *
 * @param {{adapter?: string | null}} [wanted] a part of the adapter's name that must be
 *   there, or null for any
 * @returns {Promise<OpenedGpu | NoGpu>}
 */
export async function openGpu({ adapter: wantedName = null } = {}) {
  try {
    const adapter = await findAdapter();
    const adapterName = nameOf(adapter);
    if (wantedName && !adapterName.toLowerCase().includes(wantedName.toLowerCase())) {
      throw new Unavailable(`the adapter is ${adapterName}, wanted ${wantedName}`);
    }
    const device = await openDevice(adapter);
    return {
      ok: true,
      adapterName,
      isSoftware: adapter.info.isFallbackAdapter || SOFTWARE.test(adapterName),
      device,
      features: [...device.features],
      limits: Object.fromEntries(REPORTED_LIMITS.map((k) => [k, device.limits[k]])),
    };
  } catch (error) {
    if (error instanceof Unavailable) {
      return { ok: false, reason: error.message };
    }
    const words = error instanceof Error ? error.message : String(error);
    return { ok: false, reason: `the browser refused WebGPU: ${words}` };
  }
}
