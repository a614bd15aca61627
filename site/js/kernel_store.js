// Keeps what the tuner measured, in this browser, from one visit to the next.

const DATABASE = "tabgrad";
const TABLE = "kernels";

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

/** @returns {Promise<IDBDatabase>} */
function open() {
  const request = indexedDB.open(DATABASE, 1);
  request.addEventListener("upgradeneeded", () =>
    request.result.createObjectStore(TABLE),
  );
  return settled(request);
}

/** Texts by key. A browser that refuses (a private window may) keeps them in memory. */
export class KernelStore {
  /** @type {Map<string, string>} */
  #memory = new Map();
  /** Why nothing lasts beyond this visit, or "". */
  refusal = "";

  /**
   * @param {string} key
   * @returns {Promise<string>} "" where nothing is kept
   */
  async get(key) {
    const known = this.#memory.get(key);
    return known ?? (await this.#within("readonly", (table) => table.get(key))) ?? "";
  }

  /**
   * @param {string} key
   * @param {string} text "" forgets what was kept
   */
  async put(key, text) {
    this.#memory.set(key, text);
    await this.#within("readwrite", (table) => table.put(text, key));
  }

  /**
   * @param {IDBTransactionMode} mode
   * @param {(table: IDBObjectStore) => IDBRequest} use
   */
  async #within(mode, use) {
    try {
      const database = await open();
      try {
        return await settled(use(database.transaction(TABLE, mode).objectStore(TABLE)));
      } finally {
        database.close();
      }
    } catch (error) {
      this.refusal = `this browser keeps no tuning results: ${error}`;
      return undefined;
    }
  }
}

/** @returns {Promise<string>} the browser with its whole version where it tells */
export async function browserName() {
  const agent = /** @type {any} */ (navigator).userAgentData;
  const wanted = ["fullVersionList", "platform"];
  const told = await agent?.getHighEntropyValues(wanted);
  /** @type {{brand: string, version: string}[]} */
  const brands = told?.fullVersionList ?? [];
  const real = brands.filter(({ brand }) => !/not.?a.?brand/i.test(brand));
  if (real.length === 0) {
    return navigator.userAgent;
  }
  const names = real.map(({ brand, version }) => `${brand} ${version}`).sort();
  return `${names.join(", ")}, ${told.platform}`;
}
