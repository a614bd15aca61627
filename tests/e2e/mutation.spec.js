// An error of 1 % planted in each WGSL kernel in turn: the op tests catch every one.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { GpuPython } from "./gpu_python.js";
import { noteWebgpuRun } from "./webgpu_ran.js";

/** @param {string} name */
function mutation(name) {
  return readFileSync(new URL(`../mutation/${name}`, import.meta.url), "utf8");
}

test("no error planted in a kernel goes unseen", async ({ browser, baseURL }) => {
  test.setTimeout(600_000);
  const python = await GpuPython.open(browser, baseURL);
  const source = JSON.stringify(mutation("mutants.py"));
  await python.run(`import pathlib; pathlib.Path("mutants.py").write_text(${source})`);
  await python.run(mutation("on_webgpu.py"));
  const { lived, total, adapter } = await python.json("await survivors()");
  await python.close();
  expect(lived, lived.join("\n")).toEqual([]);
  expect(total).toBeGreaterThan(40);
  noteWebgpuRun(`${total} planted errors caught`, adapter);
});
