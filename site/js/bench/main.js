// The bench page. With `?auto=` and names of sections (docs/bench.md), or `all`, it runs by
// itself, draws no text (a host without fonts cannot) and POSTs its JSON to /result; where
// nobody takes it, it is shown. Else a person runs it.

/** @import { Report } from "./measure.js" */

import { Api } from "../api.js";
import { Store } from "../store.js";
import { copy } from "../ui/clipboard.js";
import { allow, element, onPress } from "../ui/dom.js";
import { measureAll } from "./measure.js";
import { wantedOf } from "./query.js";
import { headline, markdownOf, tablesOf } from "./report.js";

const query = new URLSearchParams(location.search);
const api = new Api(new Store());

/**
 * @param {Report} report
 * @returns {Promise<boolean>} whether the server took it
 */
function isTaken(report) {
  const sent = { method: "POST", body: JSON.stringify(report) };
  return fetch("result", sent).then(
    (answer) => answer.ok,
    () => false,
  );
}

/**
 * @param {any} error
 * @returns {string} its words, with the place where nobody foresaw it
 */
const told = (error) => String(error.code ? error.message : (error.stack ?? error));

/**
 * @param {(report: Report) => void} onPart
 * @returns {Promise<Report>}
 * @throws {Error} the query asks for what is not there, or a part that others need failed
 */
async function measure(onPart) {
  const wanted = wantedOf(query);
  return measureAll(api, wanted, onPart);
}

async function runByItself() {
  const { title } = document;
  document.title = `${title}, running`;
  api.start();
  const report = await measure(() => undefined).catch((error) => ({
    error: told(error),
  }));
  document.title = title;
  if (!(await isTaken(report))) {
    showPage(report);
  }
}

/** @param {Report} shown all that was measured, or why it failed; nothing before a run */
function showPage(shown = {}) {
  const run = element("button", { type: "button", class: "primary" }, [
    "Run the bench",
  ]);
  /** @type {Report} */
  let measured = {};
  const copied = element("span", { role: "status" });
  const copies = Object.entries({
    JSON: () => JSON.stringify(measured, null, 1),
    Markdown: () => markdownOf(measured),
  }).map(([name, text]) => {
    const button = element("button", { type: "button" }, [`Copy as ${name}`]);
    allow(button, "Nothing is measured yet.");
    onPress(button, async () => {
      copied.textContent = `${name}: ${await copy(text())}`;
    });
    return button;
  });
  const note = element("p", { class: "note", role: "status" }, [
    "Products of matrices, the calls of a training step, training and backends.",
  ]);
  const tables = element("section", {}, []);
  const buttons = element("div", { class: "buttons" }, [run, ...copies, copied]);
  const title = element("h1", {}, ["Bench"]);
  document.body.append(
    element("main", { class: "card" }, [title, buttons, note, tables]),
  );
  /** @param {Report} report */
  const draw = (report) => {
    measured = report;
    for (const button of copies) {
      allow(button, null);
    }
    copied.textContent = "";
    note.textContent = headline(report);
    tables.replaceChildren(...tablesOf(report).map(drawn));
  };
  if (shown.error) {
    note.textContent = shown.error;
  } else if (shown.date) {
    draw(shown);
  }
  run.addEventListener("click", async () => {
    run.toggleAttribute("disabled", true);
    try {
      await measure(draw);
    } catch (error) {
      note.textContent = told(error);
    }
    run.toggleAttribute("disabled", false);
  });
}

/** @param {import("./cells.js").Table} table */
function drawn({ title, head, rows }) {
  /** @param {string} tag @param {string[]} cells */
  const line = (tag, cells) =>
    element(
      "tr",
      {},
      cells.map((cell) => element(tag, {}, [cell])),
    );
  return element("section", { class: "table-scroll" }, [
    element("h2", {}, [title]),
    element("table", {}, [
      element("thead", {}, [line("th", head)]),
      element(
        "tbody",
        {},
        rows.map((row) => line("td", row)),
      ),
    ]),
  ]);
}

if (query.has("auto")) {
  runByItself();
} else {
  showPage();
  api.start();
}
