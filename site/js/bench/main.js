// The bench page. With `?auto=` and names of sections (see measure.js), or `all`, it runs by
// itself, draws no text (a host without fonts cannot) and POSTs its JSON to /result; where
// nobody takes it, it is shown. Else a person runs it.

/** @import { Report } from "./measure.js" */

import { Api } from "../api.js";
import { Store } from "../store.js";
import { copy } from "../ui/clipboard.js";
import { element } from "../ui/dom.js";
import { measureAll, wantedOf } from "./measure.js";
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

async function runByItself() {
  const { title } = document;
  document.title = `${title}, running`;
  api.start();
  /** @type {Report} */
  const report = await measureAll(api, wantedOf(query), () => undefined).catch(
    (error) => ({ error: String(error instanceof Error ? error.stack : error) }),
  );
  document.title = title;
  if (!(await isTaken(report))) {
    showPage(report);
  }
}

/** @param {Report} measured so far: nothing, or all of it, or why it failed */
function showPage(measured = {}) {
  const run = element("button", { type: "button", class: "primary" }, [
    "Run the bench",
  ]);
  const asJson = element("button", { type: "button" }, ["Copy as JSON"]);
  const asMarkdown = element("button", { type: "button" }, ["Copy as Markdown"]);
  const note = element("p", { class: "note", role: "status" }, [
    "Products of matrices, the calls of a training step, training and backends.",
  ]);
  const tables = element("section", {}, []);
  const buttons = element("div", { class: "buttons" }, [run, asJson, asMarkdown]);
  const title = element("h1", {}, ["Bench"]);
  document.body.append(
    element("main", { class: "card" }, [title, buttons, note, tables]),
  );
  /** @param {Report} report */
  const draw = (report) => {
    note.textContent = headline(report);
    tables.replaceChildren(...tablesOf(report).map(drawn));
  };
  if (measured.error) {
    note.textContent = measured.error;
  } else if (measured.date) {
    draw(measured);
  }
  run.addEventListener("click", async () => {
    run.toggleAttribute("disabled", true);
    try {
      measured = await measureAll(api, wantedOf(query), draw);
    } catch (error) {
      note.textContent = String(error);
    }
    run.toggleAttribute("disabled", false);
  });
  /** @param {string} text */
  const tell = async (text) => {
    note.textContent = await copy(text);
  };
  asJson.addEventListener("click", () => tell(JSON.stringify(measured, null, 1)));
  asMarkdown.addEventListener("click", () => tell(markdownOf(measured)));
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
