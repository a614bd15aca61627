// The loss chart: training loss raw and smoothed, validation loss dashed with points;
// a sentence and a table say the same.

/** @import { Store } from "../store.js" */

import UPlot from "../../vendor/uplot/uPlot.esm.js";
import { byId, element, setText } from "./dom.js";
import { loss } from "./format.js";

const HEIGHT_PX = 300;
const SMOOTHING = 0.85; // weight of the past in the moving average
const TABLE_ROWS = 200;
const REDRAW_MS = 100;

/** @param {string} name of a custom property in css/theme.css */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @returns {import("uplot").Options} */
function options(/** @type {number} */ width) {
  const axis = {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { stroke: () => colour("--grid"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height: HEIGHT_PX,
    scales: { x: { time: false } },
    axes: [
      {
        ...axis,
        label: "Step",
        labelSize: 18,
        labelFont: "12px system-ui, sans-serif",
      },
      { ...axis, size: 52 },
    ],
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    series: [
      { label: "Step" },
      { label: "Train", stroke: () => colour("--train-raw"), width: 1 },
      { label: "Train, smoothed", stroke: () => colour("--train"), width: 2 },
      {
        label: "Validation",
        stroke: () => colour("--val"),
        width: 2,
        dash: [6, 4],
        spanGaps: true,
        points: { show: true, size: 7, fill: () => colour("--val") },
      },
    ],
  };
}

/** Rows of the chart, grown as steps come. */
class Series {
  constructor() {
    /** @type {number[]} */
    this.steps = [];
    /** @type {number[]} */
    this.losses = [];
    /** @type {number[]} */
    this.smooth = [];
    /** @type {(number | null)[]} */
    this.val = [];
    this.nVal = 0;
    this.average = 0;
  }

  /** @param {Store["run"]} run */
  grow(run) {
    for (let i = this.steps.length; i < run.losses.length; i++) {
      const value = run.losses[i];
      this.average = SMOOTHING * this.average + (1 - SMOOTHING) * value;
      this.steps.push(i + 1);
      this.losses.push(value);
      // the average began at 0: this takes the weight of that 0 out again
      this.smooth.push(this.average / (1 - SMOOTHING ** (i + 1)));
      this.val.push(null);
    }
    for (; this.nVal < run.valSteps.length; this.nVal++) {
      this.val[run.valSteps[this.nVal] - 1] = run.valLosses[this.nVal];
    }
  }

  /** @returns {import("uplot").AlignedData} */
  columns() {
    return [this.steps, this.losses, this.smooth, this.val];
  }
}

/** @param {HTMLElement} box */
function plotIn(box) {
  const plot = new UPlot(options(box.clientWidth || 600), [[], [], [], []], box);
  const canvas = plot.root.querySelector("canvas");
  canvas?.setAttribute("role", "img");
  canvas?.setAttribute("aria-label", "Loss by step");
  return plot;
}

/** @param {Store} store */
export function mountChart(store) {
  const box = byId("chart");
  let plot = plotIn(box);
  let series = new Series();
  let drawnRun = store.run;
  let timer = 0;

  function draw() {
    timer = 0;
    if (document.hidden) {
      return;
    }
    if (store.run !== drawnRun) {
      drawnRun = store.run;
      series = new Series();
    }
    series.grow(store.run);
    plot.setData(series.columns());
    const said = summary(store.run);
    setText(byId("chart-summary"), said);
    plot.root.querySelector("canvas")?.setAttribute("aria-label", said);
    drawTable(series);
  }

  function drawSoon() {
    if (!timer) {
      timer = setTimeout(draw, REDRAW_MS);
    }
  }

  const resizer = new ResizeObserver(() => {
    plot.setSize({ width: Math.max(200, box.clientWidth), height: HEIGHT_PX });
  });
  resizer.observe(box);
  store.subscribe(["steps", "run"], drawSoon);
  document.addEventListener("visibilitychange", drawSoon);
  byId("table-scroll").tabIndex = 0; // it scrolls: the keyboard must reach it
  byId("table-fold").addEventListener("toggle", drawSoon);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    plot.destroy(); // the legend takes its colours only once
    plot = plotIn(box);
    draw();
  });
}

/** @param {Store["run"]} run */
function summary(run) {
  if (run.step === 0) {
    return "No steps yet.";
  }
  const [first, last] = [loss(run.losses[0]), loss(run.losses.at(-1))];
  const train = `Training loss ${first} → ${last} over ${run.step} steps`;
  const val = run.valLosses.length
    ? `; validation loss ${loss(run.valLosses.at(-1))} at step ${run.valSteps.at(-1)}`
    : "";
  return `${train}${val}.`;
}

/** @param {Series} series */
function drawTable(series) {
  const fold = /** @type {HTMLDetailsElement} */ (byId("table-fold"));
  if (!fold.open) {
    return;
  }
  const every = Math.max(1, Math.ceil(series.steps.length / TABLE_ROWS));
  const rows = series.steps
    .filter((step, i) => step % every === 0 || i === 0 || series.val[i] !== null)
    .map((step) =>
      element("tr", {}, [
        element("th", { scope: "row" }, [String(step)]),
        element("td", {}, [loss(series.losses[step - 1])]),
        element("td", {}, [loss(series.smooth[step - 1])]),
        element("td", {}, [loss(series.val[step - 1])]),
      ]),
    );
  byId("table-rows").replaceChildren(...rows);
  setText(byId("table-note"), every > 1 ? `Every ${every}th step is listed.` : "");
}
