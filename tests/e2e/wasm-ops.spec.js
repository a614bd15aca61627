import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { wrapExports } from "../../site/js/players/border.js";
import { chooseBuild, WasmError } from "../../site/js/players/wasm_memory.js";
import { openWorker } from "./fixtures/python_worker.js";

const GIB = 2 ** 30;
const BUILDS = [
  {
    build: "engine32",
    threads: 2,
    tile: 2,
    adapter: "WASM 32-bit, 2 threads, SIMD, 4x16 tiles",
  },
  {
    build: "engine64",
    threads: 3,
    tile: 0,
    adapter: "WASM 64-bit, 3 threads, SIMD, 4x8 tiles",
  },
  {
    build: "engine32st",
    threads: 1,
    tile: 1,
    adapter: "WASM 32-bit, 1 thread, SIMD, 6x8 tiles",
  },
  {
    build: "engine32fma",
    threads: 3,
    tile: 2,
    adapter: "WASM 32-bit, 3 threads, FMA, 4x16 tiles",
  },
  {
    build: "engine64fma",
    threads: 2,
    tile: 0,
    adapter: "WASM 64-bit, 2 threads, FMA, 4x8 tiles",
  },
  {
    build: "engine32stfma",
    threads: 1,
    tile: 1,
    adapter: "WASM 32-bit, 1 thread, FMA, 6x8 tiles",
  },
];

/** @type {(code: string) => Promise<string>} */
let python;

test.describe.configure({ mode: "serial" });

test.beforeAll(async ({ browser, baseURL }) => {
  const page = await browser.newPage();
  python = await openWorker(page, String(baseURL), "wasm");
  await python(
    readFileSync(new URL("fixtures/wasm_driver.py", import.meta.url), "utf8"),
  );
});

/**
 * @param {string} code
 * @returns {Promise<any>}
 */
async function report(code) {
  return JSON.parse(await python(code));
}

for (const { build, threads, tile, adapter } of BUILDS) {
  test(`every case of every op is right on ${build}`, async () => {
    const got = await report(`await run_ops("${build}", ${threads}, ${tile})`);
    expect(got.failed).toEqual([]);
    expect(got.adapter).toBe(adapter);
    const counts = /** @type {number[]} */ (Object.values(got.cases));
    expect(counts.length).toBeGreaterThan(20);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(got.workers_alive).toBe(0);
    const total = counts.reduce((sum, n) => sum + n, 0);
    process.stdout.write(`${build}: ${total} cases, worst ${got.worst[1]}\n`);
  });
}

for (const preset of ["Nano", "Small"]) {
  for (const fma of ["", "fma"]) {
    const kind = fma ? "FMA" : "plain";
    test(`20 steps of ${preset} are bit-equal on ${kind} builds, for 1, 2, 3 threads, any tile and two runs`, async () => {
      const run = async (
        /** @type {string} */ build,
        /** @type {number} */ threads,
        /** @type {number} */ tile,
      ) =>
        report(
          `await train("${preset}", 20, ${threads}, "${build}${fma}", tile=${tile})`,
        );
      const first = await run("engine32", 1, 0);
      expect(first.losses).toHaveLength(20);
      expect(first.losses.every(Number.isFinite)).toBe(true);
      for (const [build, threads, tile] of /** @type {[string, number, number][]} */ ([
        ["engine32", 2, 0],
        ["engine32", 3, 1],
        ["engine32", 2, 2],
        ["engine32", 2, 2],
        ["engine64", 2, 1],
        ["engine64", 3, 2],
        ["engine32st", 1, 1],
      ])) {
        const got = await run(build, threads, tile);
        const words = `${build}${fma}, ${threads} threads, tile ${tile}`;
        expect(got.bits, words).toEqual(first.bits);
        expect(got.workers_alive).toBe(0);
      }
    });
  }
}

for (const fma of ["", "fma"]) {
  const kind = fma ? "FMA" : "plain";
  test(`decoded rows are those of a window on ${kind} builds, bit-equal for 1, 2, 3 threads`, async () => {
    const run = async (/** @type {string} */ build, /** @type {number} */ threads) =>
      report(`await decode("Small", ${threads}, "${build}${fma}")`);
    const first = await run("engine32", 1);
    expect(first.error).toBeLessThan(1e-5);
    for (const [build, threads] of /** @type {[string, number][]} */ ([
      ["engine32", 2],
      ["engine32", 3],
      ["engine64", 2],
      ["engine32st", 1],
    ])) {
      const { bits } = await run(build, threads);
      expect(bits === first.bits, `${build}${fma}, ${threads} threads`).toBe(true);
    }
  });
}

for (const [past, bits] of /** @type {const} */ ([
  [2.25, 32],
  [4.5, 64],
])) {
  test(`a plan past ${past} GiB runs on ${bits} bits, with pointers past them`, async () => {
    const got = await report(`await run_far(${past * GIB})`);
    expect(got.failed).toEqual([]);
    expect(got.ops).toBeGreaterThan(20);
    expect(got.lowest).toBeGreaterThanOrEqual(past * GIB);
    expect(got.adapter).toMatch(RegExp(`^WASM ${bits}-bit, \\d threads?, FMA$`));
  });
}

for (const { build } of BUILDS) {
  test(`${build} takes a tile that it timed as faster than its default, or that`, async () => {
    const standard = build.endsWith("fma") ? 1 : 0;
    for (const { tile, rates } of await report(`await choose_tile("${build}")`)) {
      process.stdout.write(
        `${build}: tile ${tile}, GFLOP/s ${rates.map(Math.round)}\n`,
      );
      const isTimed = rates.every((/** @type {number} */ rate) => rate > 0);
      expect(isTimed || Math.max(...rates) === 0).toBe(true);
      expect(tile === standard || rates[tile] > 1.03 * rates[standard]).toBe(true);
    }
  });
}

test("a plan that no build holds is refused in words, with both sizes", async () => {
  expect(await python("await too_large()")).toBe(
    "This plan needs 21.48 GB of memory and the CPU engine can have 17.18 GB. " +
      "Choose a smaller preset or batch size.",
  );
});

test("threads that do not start are given up in words, and none is left", async () => {
  const got = await report("await no_threads()");
  expect(got.said).toBe(
    "Starting the CPU engine took more than 0.3 s. Reload the page; if it happens " +
      "again, choose another backend.",
  );
  expect(got.alive).toBe(0);
});

for (const { build } of BUILDS) {
  test(`every export of ${build} takes and gives Numbers at the border`, async () => {
    const bits = build.startsWith("engine64") ? 64 : 32;
    const got = await report(
      `import wasm_page; await wasm_page.border("${build}", ${bits})`,
    );
    expect(got.found.map((/** @type {string} */ name) => name.slice(1)).sort()).toEqual(
      Object.keys(got.results).sort(),
    );
    expect(new Set(got.types)).toEqual(new Set(["number"]));
    expect(got.results.tg_open).toBeGreaterThan(0);
    expect(got.results.tg_ready).toBe(1);
    expect(got.results.tg_load).toBe(1);
    expect(got.results.tg_run).toBe(4);
    expect(got.results.tg_fill_normals).toBe(0);
    expect(got.results.tg_use_tile).toBe(2);
    expect(new Set(Object.values(got.refused))).toEqual(new Set(["WasmError"]));
    expect(Object.keys(got.refused)).toHaveLength(4);
    expect(got.raw).toBe("TypeError");
  });
}

const FAR = [2 ** 31 - 4, 2 ** 31, 3 * 2 ** 30, 2 ** 32 - 4]; // 32 bits hold these
const FARTHER = [...FAR, 2 ** 32, 5 * 2 ** 30, 16 * 2 ** 30];

/**
 * Exports of a module whose pointers come from where they went to.
 *
 * @param {(pointer: number) => number | bigint} back
 */
function echo(back) {
  /** @type {(number | bigint)[][]} */
  const given = [];
  /** @param {(number | bigint)[]} values */
  const take = (...values) => {
    given.push(values);
    return back(Number(values[0]));
  };
  const names = ["open", "room", "load", "time", "fill_normals"];
  const raw = Object.fromEntries(names.map((name) => [`_tg_${name}`, take]));
  return { raw, given };
}

test("32-bit pointers past 2 GiB are Numbers without a sign", () => {
  const { raw, given } = echo((pointer) => pointer | 0); // as WebAssembly gives an i32
  const border = wrapExports(raw, 32);
  for (const pointer of FAR) {
    expect(border.tg_room(pointer)).toBe(pointer);
    expect(border.tg_open(pointer, pointer, 1)).toBe(pointer);
    border.tg_load(pointer, pointer);
    expect(given.at(-1)).toEqual([pointer, pointer]);
    border.tg_fill_normals(pointer, pointer, 2 ** 32 - 1, 0, 1, 2, 0.5);
    expect(given.at(-1)).toEqual([pointer, pointer, 2 ** 32 - 1, 0, 1, 2, 0.5]);
  }
});

test("64-bit pointers past 2 and 4 GiB are BigInts inside and Numbers outside", () => {
  const { raw, given } = echo(BigInt);
  const border = wrapExports(raw, 64);
  for (const pointer of FARTHER) {
    const inside = BigInt(pointer);
    expect(border.tg_room(pointer)).toBe(pointer);
    expect(given.at(-1)).toEqual([inside]);
    expect(border.tg_open(pointer, pointer, 1)).toBe(pointer);
    expect(given.at(-1)).toEqual([inside, inside, 1]);
    border.tg_load(pointer, pointer);
    expect(given.at(-1)).toEqual([inside, inside]);
    border.tg_fill_normals(pointer, pointer, 2 ** 32 - 1, 0, 1, 2, 0.5);
    expect(given.at(-1)).toEqual([inside, inside, 2 ** 32 - 1, 0, 1, 2, 0.5]);
  }
});

const NEED = {
  arenaBytes: GIB,
  threadBytes: 2 ** 20,
  threads: 4,
  isIsolated: true,
  hasMemory64: true,
  hasFma: false,
};

test("32 bits hold a small plan, and memory is sized for arena and threads", () => {
  const choice = chooseBuild(NEED);
  expect(choice).toMatchObject({ build: "engine32", bits: 32, threads: 4 });
  expect(choice.memoryBytes).toBe(GIB + 4 * 2 ** 21 + 8 * 2 ** 20);
});

test("64 bits are chosen only for what 32 bits do not hold", () => {
  const edge = 4 * GIB - 2 ** 20 - 4 * 2 ** 21 - 8 * 2 ** 20;
  expect(chooseBuild({ ...NEED, arenaBytes: edge }).build).toBe("engine32");
  expect(chooseBuild({ ...NEED, arenaBytes: edge + 1 }).build).toBe("engine64");
});

test("the build with FMA is chosen where the browser has it, for every kind", () => {
  const fma = { ...NEED, hasFma: true };
  expect(chooseBuild(fma)).toMatchObject({
    build: "engine32fma",
    bits: 32,
    isFma: true,
  });
  expect(chooseBuild({ ...fma, arenaBytes: 5 * GIB }).build).toBe("engine64fma");
  expect(chooseBuild({ ...fma, isIsolated: false })).toMatchObject({
    build: "engine32stfma",
    isShared: false,
    threads: 1,
  });
  expect(chooseBuild(NEED).isFma).toBe(false);
});

test("a page that is not isolated gets one thread", () => {
  const choice = chooseBuild({ ...NEED, isIsolated: false });
  expect(choice).toMatchObject({ build: "engine32st", threads: 1 });
});

test("what stands in the way of a large plan is said", () => {
  const large = { ...NEED, arenaBytes: 6 * GIB };
  const noMemory64 = () => chooseBuild({ ...large, hasMemory64: false });
  expect(noMemory64).toThrow(WasmError);
  expect(noMemory64).toThrow("4.29 GB (this browser has no 64-bit WebAssembly memory)");
  const notIsolated = () => chooseBuild({ ...large, isIsolated: false });
  expect(notIsolated).toThrow(
    "4.29 GB (the page is not cross-origin isolated, which the 64-bit engine needs)",
  );
});
