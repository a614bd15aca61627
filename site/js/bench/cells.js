// What the cells of the bench's tables are made of.

/** @typedef {{title: string, head: string[], rows: string[][]}} Table */

const UNKNOWN = "–"; // also a rate of what took less time than the clock tells apart

/** @param {number | null | undefined} value */
export function three(value) {
  const isKnown = value != null && Number.isFinite(value);
  return isKnown ? Number(value.toPrecision(3)).toString() : UNKNOWN;
}

/** @param {number} part */
export function percent(part) {
  const isKnown = Number.isFinite(part);
  return isKnown ? `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %` : UNKNOWN;
}

/** @param {string} title @param {string} error @returns {Table} */
export function failed(title, error) {
  return { title, head: ["failed"], rows: [[error]] };
}
