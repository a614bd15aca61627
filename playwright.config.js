// Tests of the page in Chromium. One project for each kind of browser:
//   webgpu        *.spec.js               WebGPU on SwiftShader, cross-origin isolated
//   no-webgpu     *.no-webgpu.spec.js     requestAdapter() gives null
//   not-isolated  *.not-isolated.spec.js  served without COOP and COEP: no threads
// `build.py test` runs them; dist/ must be built for a run of one's own.
import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const QUIET = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-domain-reliability",
  "--disable-sync",
  "--no-pings",
];
const WEBGPU = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  // With this extension SwiftShader compiles kernels that use workgroup memory 10 to 20
  // times slower; without it Dawn zeroes that memory by a loop.
  "--disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension",
];

/**
 * @returns {string} the Chromium to drive
 * @throws {Error} none is installed
 */
function chromium() {
  const places = [
    process.env.TABGRAD_CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium-browser",
  ];
  const found = places.find((place) => place && existsSync(place));
  if (!found) {
    throw new Error(
      "no Chromium found: sudo apt-get install chromium, or name one in TABGRAD_CHROMIUM",
    );
  }
  return found;
}

/**
 * @param {string[]} flags
 * @param {string | undefined} baseURL
 */
function browser(flags, baseURL) {
  const launchOptions = {
    executablePath: chromium(),
    args: [...QUIET, ...flags],
  };
  return { baseURL, launchOptions };
}

const NO_WEBGPU = /\.no-webgpu\.spec\.js$/;
const NOT_ISOLATED = /\.not-isolated\.spec\.js$/;

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results/playwright",
  globalSetup: "./tests/e2e/servers.js",
  forbidOnly: true,
  // SwiftShader computes on the processor: two pages at once only slow each other down.
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 30_000 },
  // Larger presets carry the tag @full and run with `build.py test --full`.
  grepInvert: process.env.TABGRAD_FULL ? undefined : /@full/,
  reporter: "list",
  projects: [
    {
      name: "webgpu",
      testMatch: /\.spec\.js$/,
      testIgnore: [NO_WEBGPU, NOT_ISOLATED],
      use: browser(WEBGPU, process.env.TABGRAD_URL),
    },
    {
      name: "no-webgpu",
      testMatch: NO_WEBGPU,
      use: browser([], process.env.TABGRAD_URL),
    },
    {
      name: "not-isolated",
      testMatch: NOT_ISOLATED,
      use: browser(WEBGPU, process.env.TABGRAD_PLAIN_URL),
    },
  ],
});
