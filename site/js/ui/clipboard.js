// The clipboard, which a browser may refuse.

import * as texts from "./texts.js";

/**
 * Copy a text.
 *
 * @param {string} text
 * @returns {Promise<string>} what to tell of it
 */
export async function copy(text) {
  if (!navigator.clipboard) {
    return texts.NO_CLIPBOARD;
  }
  try {
    await navigator.clipboard.writeText(text);
    return texts.COPIED;
  } catch (error) {
    return texts.notCopied(/** @type {Error} */ (error).message);
  }
}
