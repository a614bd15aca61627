// Playwright's global set-up: serves dist/ twice on free ports, isolated and not.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * Start a server that ends when this process does.
 *
 * @param {string[]} flags
 * @returns {Promise<{url: string, stop: () => void}>}
 */
export function serve(flags) {
  const words = ["-m", "tools.serve", "--until-eof", ...flags];
  const server = spawn("python3", words, { stdio: ["pipe", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (status) =>
      reject(new Error(`python3 ${words.join(" ")} ended with status ${status}`)),
    );
    createInterface({ input: server.stdout }).once("line", (url) =>
      resolve({ url, stop: () => server.stdin.end() }),
    );
  });
}

export default async function setUp() {
  const isolated = await serve([]);
  const plain = await serve(["--no-isolation"]);
  process.env.TABGRAD_URL = isolated.url;
  process.env.TABGRAD_PLAIN_URL = plain.url;
  return () => {
    isolated.stop();
    plain.stop();
  };
}
