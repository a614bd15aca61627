// Tables of what is copied to or from buffers, as Python hands them over: float64 numbers.

// of a row: buffer, its byte, byte of the packed bytes, bytes
export const ROW_NUMBERS = 4;

/**
 * @param {Uint8Array} bytes
 * @returns {Float64Array} the numbers that they hold
 */
export function numbers(bytes) {
  return new Float64Array(bytes.slice().buffer);
}

/**
 * @param {Float64Array} table
 * @returns {number} the bytes that its rows move
 */
export function totalBytes(table) {
  let total = 0;
  for (let at = 0; at < table.length; at += ROW_NUMBERS) {
    total += table[at + 3];
  }
  return total;
}
