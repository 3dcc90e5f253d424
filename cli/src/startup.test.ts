// Counts loaded modules instead of timing the start: independent of the machine's load.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const MAIN = new URL("./main.ts", import.meta.url).pathname;
/** fetch refuses port 9 (discard), so the command fails after loading everything. */
const NOWHERE = "http://127.0.0.1:9";

const COUNTER = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  const loaded = [];
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
  process.on("exit", () => writeSync(2, "\\nLOADED " + JSON.stringify(loaded)));
`)}`;

interface Loaded {
  readonly own: number;
  readonly packages: readonly string[];
}

async function loadedBy(args: readonly string[]): Promise<Loaded> {
  const node = ["--disable-warning=ExperimentalWarning", "--import", COUNTER, MAIN, ...args];
  const { stderr } = await promisify(execFile)(process.execPath, node).catch(
    (error: { readonly stderr: string }) => error,
  );
  const urls = JSON.parse(/^LOADED (.*)$/m.exec(stderr)![1]!) as readonly string[];
  const names = urls.map((url) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  const others = names.filter((name) => name !== undefined);
  const builtIn = urls.filter((url) => url.startsWith("node:")).length;
  return { own: urls.length - others.length - builtIn, packages: [...new Set(others)].sort() };
}

describe("what a command loads", () => {
  it.each([
    [["--help"]],
    [["up", "--help"]],
    [["mcp", "--help"]],
    [["what-if", "--help"]],
    [["completion", "bash"]],
    [["lab", "matrix", "--lab", NOWHERE]],
    [["descheduler", "--server", NOWHERE]],
  ])("is commander and 45 files of ours for %j", async (args) => {
    const { own, packages } = await loadedBy(args);
    expect(packages).toEqual(["commander"]);
    expect(own).toBeLessThanOrEqual(45);
  });

  it("is the schema besides for a graph", async () => {
    const { own, packages } = await loadedBy(["graph", "--server", NOWHERE]);
    expect(packages).toEqual(["commander", "typebox"]);
    expect(own).toBeLessThanOrEqual(110);
  });

  it.each([
    [
      ["explain", "web", "--server", NOWHERE],
      ["commander", "typebox"],
    ],
    [
      ["plan", "shop", "--server", NOWHERE],
      ["commander", "typebox"],
    ],
    [
      ["score", "--cluster", "package.json", "--pod", "web"],
      ["commander", "typebox", "yaml"],
    ],
  ])("is no service, no cluster's client and no metrics for %j", async (args, expected) => {
    const { packages } = await loadedBy(args);
    expect(packages).toEqual(expected);
  });
});
