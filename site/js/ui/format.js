// Numbers as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
export const NONE = "–";

/** @param {number} n */
export const count = (n) => whole.format(n);

/** @param {number | null | undefined} loss */
export const loss = (loss) => (loss == null ? NONE : loss.toFixed(4));

/** @param {number | null | undefined} n */
export const three = (n) => (n == null ? NONE : short.format(n));

/** @param {number | null | undefined} n */
export function rate(n) {
  return n == null ? NONE : Number(n.toPrecision(4)).toString();
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** @param {number} n */
export function magnitude(n) {
  const [value, unit] =
    n >= 1e9 ? [n / 1e9, " G"] : n >= 1e6 ? [n / 1e6, " M"] : [n / 1e3, " k"];
  return n < 1000 ? count(n) : `${short.format(value)}${unit}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms == null) {
    return NONE;
  }
  const seconds = Math.round(ms / 1000);
  if (ms < 9950) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  if (seconds < 60) {
    return `${seconds} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return `${minutes} min ${seconds % 60} s`;
  }
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
