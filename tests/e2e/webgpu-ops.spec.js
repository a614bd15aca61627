// Every op and case on WebGPU against the float64 references, and what failures say.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { GpuPython } from "./gpu_python.js";
import { noteWebgpuRun } from "./webgpu_ran.js";

// Rows that need shader-f16 or over 32 KiB of workgroup memory, which SwiftShader has not.
const LARGE = /f16$|128x128x16 8x8 two buffers$/;

/** @type {GpuPython} */
let gpu;

test.beforeAll(async ({ browser, baseURL }) => {
  gpu = await GpuPython.open(browser, baseURL);
});

test.afterAll(async () => {
  await gpu.close();
});

test("every case of every op is as near as its contract wants", async () => {
  test.setTimeout(600_000);
  const report = await gpu.json("await run_ops(list(OPS))");
  expect(report.failed, report.failed.join("\n")).toEqual([]);
  expect(report.backend).toBe("webgpu");
  expect(report.adapter).toMatch(/\w/);
  expect(report.cases).toBeGreaterThan(500);
  expect(report.warnings).toEqual([]);
  expect(report.groups, "no case goes past one dimension").toBeGreaterThan(65_535);
  noteWebgpuRun(`${report.cases} cases of ops`, report.adapter);
});

test("every other row of the table gives the same on the cases that fit it", async () => {
  test.setTimeout(900_000);
  const report = await gpu.json("await run_variants(60_000)");
  expect(report.failed, report.failed.join("\n")).toEqual([]);
  expect(report.warnings).toEqual([]);
  const rest = report.untried.filter((/** @type {string} */ row) => !LARGE.test(row));
  expect(rest, "rows that this device could do, and that had no case").toEqual([]);
  expect(report.rows).toBeGreaterThan(20);
  expect(report.cases).toBeGreaterThan(3 * report.rows);
  noteWebgpuRun(`${report.cases} cases of ${report.rows} variants`, report.adapter);
});

test("GELU and its slope keep their relative errors into the tail", async () => {
  const url = new URL("../ops/gelu_errors.py", import.meta.url);
  await gpu.run(readFileSync(url, "utf8"));
  const found = await gpu.json("await gelu_report()");
  expect(found.y.error, `at ${found.y.x}`).toBeLessThan(1.5e-5);
  expect(found.slope.error, `at ${found.slope.x}`).toBeLessThan(1.5e-5);
  expect([found.far_y, found.far_slope]).toEqual([true, true]);
});

test("the kernels of the presets compile without a warning", async () => {
  const presets = '["Nano", "Tiny", "Small", "Medium"]';
  const report = await gpu.json(`await preset_warnings(${presets})`);
  expect(report.warnings).toEqual([]);
  expect(report.kernels).toBeGreaterThan(50);
});

test("a kernel that does not compile is named, with its line", async () => {
  const words = await gpu.run("await broken_kernel()");
  expect(words).toMatch(/does not compile kernel gelu_fwd, 'fn \(': /);
});

test("an access that the contract does not give is refused", async () => {
  const words = await gpu.run("await wrong_access()");
  expect(words).toMatch(/kernel gelu_fwd: the GPU made no pipeline: .*binding/s);
});

test("a submit that fails names its kernel, and the device is not used again", async () => {
  const { first, later } = await gpu.json("await failing_submit()");
  expect(first).toMatch(/WebGPU: kernel gelu_fwd failed on the GPU: .*65536/s);
  expect(later).toBe(first);
});

test("a device that goes while running rejects everything in words", async () => {
  const words = await gpu.json("await destroyed_while_running()");
  expect(words).toHaveLength(5);
  for (const word of words) {
    expect(word).toMatch(/WebGPU: the GPU device was lost \(destroyed\): \w+/);
  }
});

test("runs under way at once each get the results of their own steps", async () => {
  expect(await gpu.json("await in_flight_results()")).toEqual([
    1, 31, 38, 38, 102, 104,
  ]);
});

test("no buffer is made after the first runs", async () => {
  expect(await gpu.run("await buffers_after(20)")).toBe("0");
});

test("a weight that is not finite shows in loss and gradient norm", async () => {
  const seen = await gpu.json("await poisoned_weight()");
  expect(Object.keys(seen)).toHaveLength(4);
  for (const [tensor, shown] of Object.entries(seen)) {
    const isPoisoned = tensor !== "";
    expect(shown, tensor).toEqual([isPoisoned, isPoisoned]);
  }
});
