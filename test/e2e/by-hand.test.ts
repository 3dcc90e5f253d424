// Runs the commands of docs/by-hand.md with a stand-in for `docker build` and `docker run`.
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SECTIONS } from "../harness/helm/index.ts";

const ROOT = join(import.meta.dirname, "../..");
const NODE = process.execPath;
const IN_NETWORK = ["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
const PROGRAMS: Readonly<Record<string, string>> = {
  // Its dependencies are installed already.
  npm: 'test "$*" = ci',
  docker: `exec ${NODE} --disable-warning=ExperimentalWarning ${join(import.meta.dirname, "../harness/docker-stand-in.ts")} "$@"`,
};
/** Waits until the graph has a measurement between two probes, which takes a plan and a window. */
const UNTIL_MEASURED = "until node cli/src/main.ts graph | grep -E '^a +.*[0-9]+\\.[0-9]'; do sleep 1; done";

const canIsolate = spawnSync("unshare", [...IN_NETWORK, "ip", "link", "set", "lo", "up"]).status === 0;
if (!canIsolate) console.warn("docs/by-hand.md is not run: there are no network namespaces for this user");

function commandsBelow(heading: string): string[] {
  const page = readFileSync(join(ROOT, "docs/by-hand.md"), "utf8");
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text]) => text!);
}

describe("running services by hand", { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-by-hand-"));

  beforeAll(() => {
    const programs = join(folder, "bin");
    mkdirSync(programs);
    symlinkSync(NODE, join(programs, "node"));
    for (const [name, text] of Object.entries(PROGRAMS)) {
      writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(programs, name), 0o755);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** @returns the commands' output, after all processes they started have ended */
  async function run(lines: readonly string[]): Promise<string> {
    const script = join(folder, "script.sh");
    writeFileSync(script, ["set -eu", "ip link set lo up", ...lines, "exit 0"].join("\n"));
    const env = { PATH: `${join(folder, "bin")}:${process.env["PATH"]}`, HOME: folder, LAYOUTS: folder };
    // The first process of a PID namespace ends only by SIGKILL.
    const options = { cwd: ROOT, env, timeout: 500_000, killSignal: "SIGKILL" } as const;
    const { stdout } = await promisify(execFile)("unshare", [...IN_NETWORK, "bash", script], options);
    return stdout;
  }

  test.runIf(canIsolate)(
    "from the sources: probes measure each other, and the extender has the graph",
    async () => {
      const [start, look] = commandsBelow("From the sources");
      const said = await run([start!, UNTIL_MEASURED, look!]);
      expect(said).toContain('{"ready":true,"reasons":[]}');
    },
  );

  test.runIf(canIsolate)("from what images hold, with the same variables", async () => {
    const [start] = commandsBelow("From images");
    const [, look] = commandsBelow("From the sources");
    const said = await run([start!, UNTIL_MEASURED, look!]);
    expect(said).toContain('{"ready":true,"reasons":[]}');
  });

  test("a settings file that has the sections of all services is fine with each of them", () => {
    const names = new Set(Object.values(SECTIONS).flatMap((sections) => sections.map(({ name }) => name)));
    const file = join(folder, "all.json");
    writeFileSync(file, JSON.stringify(Object.fromEntries([...names].map((name) => [name, {}]))));
    for (const service of Object.keys(SECTIONS)) {
      // One invalid setting makes it exit at once and list all errors.
      const env = { ISOCHRONE_CONFIG: file, ISOCHRONE_SERVICE_LOG_LEVEL: "loud" };
      const { status, stderr } = spawnSync(NODE, [join(ROOT, service, "src/main.ts")], { env });
      const mistakes = stderr
        .toString()
        .split("\n")
        .filter((line) => /^ {2}\S/.test(line));
      expect({
        service,
        status,
        mistakes: mistakes.filter((line) => / is not a section/.test(line)),
      }).toEqual({
        service,
        status: 1,
        mistakes: [],
      });
      expect(stderr.toString()).toContain("service.logLevel (ISOCHRONE_SERVICE_LOG_LEVEL) must be one of");
    }
  });
});
