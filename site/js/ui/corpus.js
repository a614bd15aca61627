// The text to train on: built in, pasted or from a file.

/** @import { CorpusRequest } from "../engine.js" */

import { byId, setText } from "./dom.js";
import { count, size } from "./format.js";
import * as texts from "./texts.js";

const MAX_FILE_BYTES = 100e6;
const MAX_BROKEN_SHARE = 0.001;
const BOMS = /** @type {const} */ ([
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
]);

/**
 * Decode a text file: UTF-8, or UTF-16 where it says so itself.
 *
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {string}
 * @throws {Error} it is binary or in another encoding
 */
export function decodeText(bytes) {
  const found = BOMS.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte));
  const text = new TextDecoder(found?.[0] ?? "utf-8").decode(bytes);
  if (text.includes("\0")) {
    throw new Error(texts.BINARY_FILE);
  }
  const broken = text.split("\ufffd").length - 1;
  if (broken > text.length * MAX_BROKEN_SHARE) {
    throw new Error(texts.NOT_UTF8);
  }
  return text.replaceAll("\r\n", "\n");
}

/**
 * @param {() => void} onChange
 * @returns {{request: () => CorpusRequest, fault: () => string | null}}
 */
export function mountCorpus(onChange) {
  const select = /** @type {HTMLSelectElement} */ (byId("corpus"));
  const paste = /** @type {HTMLTextAreaElement} */ (byId("corpus-text"));
  const file = /** @type {HTMLInputElement} */ (byId("corpus-file"));
  let pasted = { text: "", name: "pasted text" };
  let read = { text: "", name: "no file" };
  /** @type {string | null} */
  let fault = null;

  function draw() {
    byId("corpus-paste-row").hidden = select.value !== "paste";
    byId("corpus-file-row").hidden = select.value !== "file";
  }

  async function readFile() {
    const chosen = file.files?.[0];
    fault = null;
    read = { text: "", name: "no file" };
    try {
      read = chosen ? { text: await textOf(chosen), name: chosen.name } : read;
    } catch (error) {
      fault = /** @type {Error} */ (error).message;
    }
    const amount = `${count(read.text.length)} characters`;
    setText(byId("corpus-file-facts"), read.text ? `${read.name}: ${amount}` : "");
    onChange();
  }

  select.addEventListener("change", () => {
    draw();
    onChange();
  });
  paste.addEventListener("input", () => {
    pasted = { text: paste.value, name: "pasted text" };
    onChange();
  });
  file.addEventListener("change", readFile);
  draw();
  return {
    request() {
      if (select.value === "paste") {
        return pasted;
      }
      return select.value === "file" ? read : "tinyshakespeare";
    },
    fault: () => (select.value === "file" ? fault : null),
  };
}

/** @param {File} file */
async function textOf(file) {
  if (file.size > MAX_FILE_BYTES) {
    throw new Error(texts.tooLarge(size(file.size)));
  }
  return decodeText(new Uint8Array(await file.arrayBuffer()));
}
