// The CPU engine's part of the bench's report as tables.

/** @import { Table } from "./cells.js" */
/** @import { Report } from "./measure.js" */

import { failed, percent, three } from "./cells.js";

/** @param {Report} report @returns {Table[]} */
export function cpuTables({ cpu = {} }) {
  const { products = {}, tiles = {}, ops = {}, train = {} } = cpu;
  return [
    ...productTable(products),
    ...tileTable(tiles),
    ...opTables(ops),
    ...trainTable(train),
  ];
}

/** @param {Report} rows @returns {Table[]} */
function productTable(rows) {
  const head = ["Product", "ms", "Least – most", "GFLOP/s", "Of peak", "Engine"];
  const cells = Object.entries(rows).map(([name, row]) => {
    if (row.error) {
      return [name, row.error, "", "", "", ""];
    }
    const gflops = row.flops / row.ms / 1e6;
    const spread = `${three(row.least_ms)} – ${three(row.most_ms)}`;
    const ofPeak = percent(gflops / peakOf(row));
    return [name, three(row.ms), spread, three(gflops), ofPeak, row.adapter];
  });
  return cells.length ? [{ title: "Products on the CPU", head, rows: cells }] : [];
}

/** @param {Report} rows @returns {Table[]} */
function tileTable(rows) {
  const head = ["Product", "Tile", "ms", "Least", "GFLOP/s", "At start", "Right"];
  const cells = Object.entries(rows).flatMap(([name, product]) => {
    if (product.error) {
      return [[name, product.error, "", "", "", "", ""]];
    }
    const { flops, tile_gflops: atStart, tile: chosen } = product;
    return product.rows.map((/** @type {any} */ row) => [
      name,
      row.tile === chosen ? `${row.tile}, chosen` : row.tile,
      three(row.ms),
      three(row.least_ms),
      three(flops / row.least_ms / 1e6),
      atStart[row.tile] ? three(atStart[row.tile]) : "not timed",
      row.is_right ? "yes" : "NO",
    ]);
  });
  const title = "Products on the CPU by each tile, on one thread";
  return cells.length ? [{ title, head, rows: cells }] : [];
}

/**
 * @param {Report} row
 * @returns {number} GFLOP/s: the measured peak of one thread, times the threads
 */
function peakOf({ peak_gflops, threads }) {
  return peak_gflops * threads;
}

/** @param {Report} ops @returns {Table[]} */
function opTables(ops) {
  const head = ["Op", "Sizes", "Calls", "ms", "Share", "GFLOP/s", "Of peak", "GB/s"];
  return Object.entries(ops).map(([preset, measured]) => {
    const { error, step, rows, adapter, peak_gflops } = measured;
    if (error) {
      return failed(`Ops of a training step on the CPU: ${preset}`, error);
    }
    /** @param {any} row */
    const total = (row) => row.ms * row.count;
    /** @param {any} row */
    const cells = (row) => {
      const gflops = row.flops / row.ms / 1e6;
      return [
        row.op,
        row.sizes,
        `${row.count}`,
        three(total(row)),
        percent(total(row) / step.ms),
        row.flops ? three(gflops) : "–",
        row.flops ? percent(gflops / peakOf(measured)) : "–",
        three(row.bytes / row.ms / 1e6),
      ];
    };
    const sorted = [...rows].sort((a, b) => total(b) - total(a));
    const all = ["all", "", `${step.calls}`, three(step.ms), "", "", "", ""];
    const title = `Ops of a training step on the CPU: ${preset}; ${adapter}; peak of a thread ${three(peak_gflops)} GFLOP/s`;
    return { title, head, rows: [...sorted.map(cells), all] };
  });
}

/** @param {Report} train @returns {Table[]} */
function trainTable(train) {
  const head = ["Run", "ms / step", "Middle half", "Least", "Tokens / s", "Engine"];
  const rows = Object.entries(train).map(([name, row]) => {
    if (row.error) {
      return [name, row.error, "", "", "", ""];
    }
    const { median, p25, p75, min } = row.ms_per_step;
    const spread = `${three(p25)} – ${three(p75)}`;
    const rate = Math.round(row.tokens_per_s).toString();
    return [name, three(median), spread, three(min), rate, row.adapter];
  });
  return rows.length ? [{ title: "Training on the CPU", head, rows }] : [];
}
