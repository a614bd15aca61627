// The search for a GPU ends in a device or in words, whatever the browser does.
import { expect, test } from "@playwright/test";

/**
 * @param {import("@playwright/test").Page} page
 * @param {string} stub JavaScript, run before the search
 * @param {object} [wanted] argument of openGpu
 */
async function probe(page, stub, wanted) {
  await page.goto("build.json");
  return page.evaluate(
    async ({ stub, wanted, url }) => {
      const { openGpu } = await import(url);
      new Function(stub)();
      const opened = await openGpu(wanted);
      const { device, ...rest } = opened;
      return { ...rest, maxBufferSize: device?.limits.maxBufferSize };
    },
    { stub, wanted, url: new URL("js/gpu.js", page.url()).href },
  );
}

/** @param {string} value JavaScript of what takes the place of navigator.gpu */
function gpuIs(value) {
  return `Object.defineProperty(navigator, "gpu", { value: ${value} })`;
}

test("a device has the adapter's limits, and a software adapter is named", async ({
  page,
}) => {
  const got = await probe(page, "");
  expect(got).toMatchObject({
    ok: true,
    adapterName: expect.stringContaining("swiftshader"),
    isSoftware: true,
    features: expect.arrayContaining(["subgroups", "timestamp-query"]),
  });
  const limit = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    return adapter?.limits.maxStorageBufferBindingSize;
  });
  const defaultLimit = 128 * 1024 * 1024;
  expect(got.limits.maxStorageBufferBindingSize).toBe(limit);
  expect(got.limits.maxStorageBufferBindingSize).toBeGreaterThan(defaultLimit);
  expect(got.limits.maxComputeWorkgroupsPerDimension).toBe(65_535);
  expect(got.maxBufferSize).toBe(got.limits.maxBufferSize);
});

/** @type {[string, string, RegExp][]} */
const FAILURES = [
  ["has no WebGPU", gpuIs("undefined"), /browser has no WebGPU; use a current Chrome/],
  [
    "offers no adapter",
    gpuIs("{ requestAdapter: async () => null }"),
    /offers no GPU adapter; turn on hardware acceleration/,
  ],
  [
    "refuses",
    gpuIs("{ requestAdapter: async () => { throw new Error('blocked') } }"),
    /the browser refused WebGPU: blocked/,
  ],
  [
    "never answers",
    gpuIs("{ requestAdapter: () => new Promise(() => undefined) }"),
    /search for a GPU gave no answer within 5 s/,
  ],
  [
    "gives no device",
    "GPUAdapter.prototype.requestDevice = async () => { throw new Error('busy') }",
    /the browser refused WebGPU: busy/,
  ],
  [
    "is not in a secure context",
    'Object.defineProperty(globalThis, "isSecureContext", { value: false })',
    /not in a secure context; open it over https or on localhost/,
  ],
];

for (const [what, stub, words] of FAILURES) {
  test(`a browser that ${what} is told in words`, async ({ page }) => {
    const got = await probe(page, stub);
    expect(got.ok).toBe(false);
    expect(got.reason).toMatch(words);
  });
}

test("an adapter that was not wanted is refused by name", async ({ page }) => {
  const got = await probe(page, "", { adapter: "nvidia" });
  expect(got.reason).toMatch(/the adapter is google swiftshader.*, wanted nvidia/);
});
