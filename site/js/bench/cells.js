// What the cells of the bench's tables are made of.

/** @typedef {{title: string, head: string[], rows: string[][]}} Table */

/** @param {number | null | undefined} value */
export function three(value) {
  return value == null ? "–" : Number(value.toPrecision(3)).toString();
}

/** @param {number} part */
export function percent(part) {
  return `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
}

/** @param {string} title @param {string} error @returns {Table} */
export function failed(title, error) {
  return { title, head: ["failed"], rows: [[error]] };
}
