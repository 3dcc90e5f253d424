import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env["ISOCHRONE_TEST_CHROMIUM"] ?? CANDIDATES.find((path) => existsSync(path));

/** Whether browser tests can run. With CI set, a missing browser is an error instead of a skip. */
export const hasBrowser = executablePath !== undefined || process.env["CI"] !== undefined;

/** @param options.hasBackForwardCache as in users' browsers. @default false */
export async function launchBrowser(
  options: { readonly hasBackForwardCache?: boolean } = {},
): Promise<Browser> {
  if (executablePath === undefined)
    throw new Error(`no Chromium at ${CANDIDATES.join(", ")}; install one or set ISOCHRONE_TEST_CHROMIUM`);
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  const ignoreDefaultArgs = options.hasBackForwardCache === true ? ["--disable-back-forward-cache"] : [];
  return chromium.launch({ executablePath, headless: true, args, ignoreDefaultArgs });
}
