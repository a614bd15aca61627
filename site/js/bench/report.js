// The bench's report as tables: lists of texts, which the page and Markdown both show.

/** @import { Report } from "./measure.js" */
/** @import { Table } from "./cells.js" */

import { failed, percent, three } from "./cells.js";
import { cpuTables } from "./cpu_report.js";

/**
 * @param {Report} report
 * @returns {Table[]}
 */
export function tablesOf(report) {
  const sections = [
    peakTable,
    kernelTables,
    trainTable,
    opTables,
    backendTables,
    variantTable,
    growthTable,
    labTables,
    cpuTables,
  ];
  return sections.flatMap((section) => section(report));
}

/** @param {Report} report @returns {Table[]} */
function peakTable({ peaks }) {
  if (!peaks || peaks.error) {
    return peaks ? [failed("Peaks", peaks.error)] : [];
  }
  const rows = [[three(peaks.tflops), three(peaks.gb_per_s)]];
  return [{ title: "Measured peaks", head: ["FMA, TFLOP/s", "Copy, GB/s"], rows }];
}

/** @param {Report} report @returns {Table[]} */
function kernelTables({ kernels = {}, peaks = {} }) {
  const head = [
    "Kernel",
    "ms",
    "Least – most",
    "TFLOP/s",
    "Of peak",
    "Error / allowed",
  ];
  return Object.entries(kernels).map(([title, { error, flops, rows }]) => {
    if (error) {
      return failed(title, error);
    }
    /** @param {any} row */
    const cells = (row) => {
      if (row.refused) {
        return [row.row, row.refused, "", "", "", ""];
      }
      const tflops = flops / row.ms / 1e9;
      const spread = `${three(row.least_ms)} – ${three(row.most_ms)}`;
      const ofPeak = peaks.tflops ? percent(tflops / peaks.tflops) : "–";
      return [row.row, three(row.ms), spread, three(tflops), ofPeak, held(row)];
    };
    return { title, head, rows: rows.map(cells) };
  });
}

/** @param {Report} report @returns {Table[]} */
function trainTable({ train = {}, ops = {} }) {
  const head = [
    "Preset",
    "ms / step",
    "Middle half",
    "First step, ms",
    "Tokens / s",
    "Host share",
    "Kernels a step",
    "Tuning, s",
  ];
  const rows = Object.entries(train).map(([preset, row]) => {
    if (row.error) {
      return [preset, row.error, "", "", "", "", "", ""];
    }
    const { median, p25, p75 } = row.ms_per_step;
    const step = ops[preset]?.step;
    const host = step ? percent(Math.max(0, 1 - step.ms / median)) : "–";
    const spread = `${three(p25)} – ${three(p75)}`;
    const rate = Math.round(row.tokens_per_s).toString();
    const count = step ? `${step.dispatches}` : "–";
    const first = three(row.first_step_ms);
    return [
      preset,
      three(median),
      spread,
      first,
      rate,
      host,
      count,
      three(row.tuning_s),
    ];
  });
  return rows.length ? [{ title: "Training on WebGPU", head, rows }] : [];
}

/** @param {Report} report @returns {Table[]} */
function opTables({ ops = {}, peaks = {} }) {
  const head = [
    "Op",
    "Sizes",
    "Kernel",
    "Calls",
    "us",
    "us in a step",
    "Share",
    "TFLOP/s",
    "GB/s",
    "Of roofline",
  ];
  return Object.entries(ops).map(([preset, { error, step, rows }]) => {
    const title = `Ops of a training step: ${preset}`;
    if (error) {
      return failed(title, error);
    }
    /** @param {any} row */
    const total = (row) => row.ms * row.count;
    const sum = rows.reduce((/** @type {number} */ s, /** @type {any} */ r) => {
      return s + total(r);
    }, 0);
    /** @param {any} row */
    const cells = (row) => {
      const share = percent(total(row) / sum);
      const tflops = row.flops ? three(row.flops / row.ms / 1e9) : "–";
      const rate = three(row.bytes / row.ms / 1e6);
      const us = three(row.ms * 1000);
      const inPlace = three(row.in_place_ms * 1000);
      const what = [row.op, row.sizes, row.row, `${row.count}`];
      const ofRoofline = percent(leastMs(row, peaks) / row.ms);
      return [...what, us, inPlace, share, tflops, rate, ofRoofline];
    };
    const sorted = [...rows].sort((a, b) => total(b) - total(a));
    const inPlace = rows.reduce((/** @type {number} */ s, /** @type {any} */ r) => {
      return s + r.in_place_ms * r.count;
    }, 0);
    const sums = [sum, inPlace].map((ms) => three(ms * 1000));
    const all = ["sum", "", "", `${step.dispatches}`, ...sums, "", "", "", ""];
    const whole = ["step", "", "", "1", "", three(step.ms * 1000), "", "", "", ""];
    const peak = `; peaks ${three(peaks.tflops)} TFLOP/s, ${three(peaks.gb_per_s)} GB/s`;
    return { title: title + peak, head, rows: [...sorted.map(cells), all, whole] };
  });
}

/**
 * @param {{flops: number, bytes: number}} call
 * @param {{tflops?: number, gb_per_s?: number}} peaks as measured
 * @returns {number} what the card needs at the least by its roofline; not a number where
 *   its peaks are unknown
 */
function leastMs({ flops, bytes }, { tflops = Number.NaN, gb_per_s = Number.NaN }) {
  return Math.max(flops / tflops / 1e9, bytes / gb_per_s / 1e6);
}

/** @param {Report} report @returns {Table[]} */
function backendTables({ backends = {} }) {
  const head = ["Backend", "ms / step", "Speed-up", "Loss drift, 50 steps"];
  return Object.entries(backends).map(([preset, { error, wall_s: _, ...rows }]) => {
    const title = `Backends: ${preset}`;
    if (error) {
      return failed(title, error);
    }
    const cells = Object.entries(rows).map(([name, row]) => [
      name,
      three(row.ms_per_step.median),
      three(row.speed_up),
      row.drift.toExponential(1),
    ]);
    return { title, head, rows: cells };
  });
}

/** @param {Report} report @returns {Table[]} */
function variantTable({ variants = {} }) {
  const head = [
    "Kernel, base rows elsewhere",
    "Loss drift from WASM, 50 steps",
    "ms / step",
  ];
  const rows = Object.entries(variants).map(([name, row]) =>
    row.error
      ? [name, row.error, ""]
      : [name, row.drift.toExponential(1), three(row.ms)],
  );
  const title = "Each kernel forced in turn";
  return rows.length ? [{ title, head, rows }] : [];
}

/** @param {Report} report @returns {Table[]} */
function growthTable({ growth = {} }) {
  const head = ["Preset", "Steps", "Memory before, MB", "after, MB"];
  const rows = Object.entries(growth).map(([preset, row]) =>
    row.error
      ? [preset, row.error, "", ""]
      : [
          preset,
          `${row.steps}`,
          three(row.before_bytes / 1e6),
          three(row.after_bytes / 1e6),
        ],
  );
  const title = "Memory of the page over a long run";
  return rows.length ? [{ title, head, rows }] : [];
}

/** @param {Report} report @returns {Table[]} */
function labTables({ lab = {} }) {
  const head = [
    "Way",
    "Dispatches",
    "us",
    "Least – most",
    "Of the first",
    "JavaScript, us",
    "Error / allowed",
  ];
  return Object.entries(lab).map(([title, { error, rows }]) => {
    if (error) {
      return failed(title, error);
    }
    /** @param {any} row */
    const cells = (row) => {
      if (row.refused) {
        return [row.way, row.refused, "", "", "", "", ""];
      }
      const spread = `${three(row.least_ms * 1000)} – ${three(row.most_ms * 1000)}`;
      const share = three(row.ms / rows[0].ms);
      const js = row.js_ms === undefined ? "–" : three(row.js_ms * 1000);
      const us = three(row.ms * 1000);
      return [row.way, `${row.dispatches}`, us, spread, share, js, held(row)];
    };
    return { title: `Lab: ${title}`, head, rows: rows.map(cells) };
  });
}

/**
 * @param {{error: number | null, allowed?: number}} row `allowed` is a tolerance of its own
 * @returns {string}
 */
function held({ error, allowed }) {
  if (error === null) {
    return "–";
  }
  const ratio = error <= 1 ? three(error) : `WRONG ${three(error)}`;
  return allowed ? `${ratio} (${allowed} allowed)` : ratio;
}

/**
 * @param {Report} report
 * @returns {string} where and how it was measured
 */
export function headline(report) {
  const { adapter, browser, build, version, date } = report;
  const words = `${adapter ?? "no GPU"}, ${browser}, tabgrad ${version} (${build}), ${date}`;
  return report.is_software
    ? `${words}. A software adapter: these numbers say nothing about a GPU.`
    : words;
}

/** @param {Report} report */
export function markdownOf(report) {
  const lines = [headline(report), ""];
  for (const { title, head, rows } of tablesOf(report)) {
    lines.push(`**${title}**`, "", line(head), line(head.map(() => "---")));
    lines.push(...rows.map(line), "");
  }
  return lines.join("\n");
}

/** @param {string[]} cells */
function line(cells) {
  return `| ${cells.map((cell) => cell.replaceAll("|", "/")).join(" | ")} |`;
}
