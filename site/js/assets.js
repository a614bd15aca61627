// The files that the engine needs, fetched with the bytes counted as they come.

/**
 * @typedef {{
 *   version: string, build: string, wheel: string, engines: Record<string, string>,
 *   engine_missing: {reason: string, remedy: string} | null,
 *   bytes: Record<string, number>
 * }} Build  what build.json holds
 *
 * @typedef {(file: string, done: number, total: number) => void} OnBytes
 */

export const ROOT = new URL("../", import.meta.url);
/** The Python packages that are loaded beside tabgrad. */
export const PACKAGES = ["numpy", "micropip"];
export const CORPUS = "corpora/tinyshakespeare.txt";

/** A file could not be had; `message` names it and says what to do. */
export class AssetError extends Error {
  /**
   * @param {string} file
   * @param {string} reason
   */
  constructor(file, reason) {
    super(
      `${file} could not be loaded: ${reason}. Check the connection and whether an ` +
        "extension blocks it, then press Retry",
    );
    this.code = "TAB-LOAD";
  }
}

/**
 * @returns {Promise<Build>}
 * @throws {AssetError}
 */
export async function readBuild() {
  const response = await fetchAsset(self.fetch, new URL("build.json", ROOT));
  return response.json();
}

/**
 * @param {Build} build
 * @returns {string[]} the files that are loaded before the first run
 */
export function bootFiles(build) {
  const runtime = Object.keys(build.bytes).filter(
    (path) =>
      path.startsWith("pyodide/") &&
      (!path.endsWith(".whl") || PACKAGES.some((name) => path.includes(`/${name}-`))),
  );
  return [...runtime, build.wheel, CORPUS];
}

/**
 * @param {typeof fetch} fetcher
 * @param {URL} url
 * @param {RequestInit} [init]
 * @returns {Promise<Response>} with a status of success
 * @throws {AssetError}
 */
async function fetchAsset(fetcher, url, init) {
  const file = pathOf(url);
  let response;
  try {
    response = await fetcher(url, init);
  } catch (error) {
    throw new AssetError(file, `the request failed (${error})`);
  }
  if (!response.ok) {
    throw new AssetError(file, `the server answered ${response.status}`);
  }
  return response;
}

/** @param {URL} url */
function pathOf(url) {
  return url.href.startsWith(ROOT.href) ? url.href.slice(ROOT.href.length) : url.href;
}

/**
 * Count the bytes of every file that is fetched by anyone in this worker, Pyodide
 * included, until the returned function is called.
 *
 * @param {Record<string, number>} bytes size of each file
 * @param {OnBytes} onBytes
 * @param {(error: AssetError) => void} onError also called where the caller of fetch
 *   would swallow the error
 * @returns {() => void} puts the browser's own fetch back
 */
export function countFetches(bytes, onBytes, onError) {
  const original = self.fetch.bind(self);
  self.fetch = async (input, init) => {
    const url = new URL(
      input instanceof Request ? input.url : input,
      self.location.href,
    );
    const file = pathOf(url);
    onBytes(file, 0, bytes[file] ?? 0);
    try {
      const response = await fetchAsset(original, url, init);
      return counted(response, (done) => onBytes(file, done, bytes[file] ?? done));
    } catch (error) {
      if (error instanceof AssetError) {
        onError(error);
      }
      throw error;
    }
  };
  return () => {
    self.fetch = original;
  };
}

/**
 * @param {Response} response
 * @param {(done: number) => void} onDone
 */
function counted(response, onDone) {
  if (!response.body) {
    return response;
  }
  let done = 0;
  const counter = new TransformStream({
    transform(chunk, controller) {
      done += chunk.byteLength;
      onDone(done);
      controller.enqueue(chunk);
    },
  });
  const { status, headers } = response;
  const copy = new Response(response.body.pipeThrough(counter), { status, headers });
  Object.defineProperty(copy, "url", { value: response.url });
  return copy;
}
