// What this browser's WebAssembly can do, by validating tiny modules.

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** @returns {boolean} whether memories may have 64-bit addresses */
export function hasMemory64() {
  // one memory (section 5) with flags 4: 64-bit, no maximum
  return WebAssembly.validate(new Uint8Array([...HEADER, 5, 3, 1, 4, 1]));
}
