import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const NOBODY = "http://127.0.0.1:9";

let folder = "";
let kubeconfig = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "isochrone-log-"));
  kubeconfig = join(folder, "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: NOBODY } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Minimal settings with which each service logs a line. */
const SERVICES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  aggregator: { ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1", ISOCHRONE_AGGREGATOR_PORT: "0" },
  collector: {
    ISOCHRONE_COLLECTOR_NODE: "n1",
    ISOCHRONE_COLLECTOR_AGGREGATOR_URL: NOBODY,
    ISOCHRONE_COLLECTOR_HOST: "127.0.0.1",
    ISOCHRONE_COLLECTOR_PORT: "0",
  },
  dispatcher: { ISOCHRONE_DISPATCHER_PORT: "0" },
  "network-manager": { ISOCHRONE_FLOWS_NODE: "n1" },
  probe: {
    ISOCHRONE_PROBE_NODE: "n1",
    ISOCHRONE_PROBE_BIND_ADDRESS: "127.0.0.1",
    ISOCHRONE_PROBE_AUTHENTICATION: "none",
    ISOCHRONE_CLIENT_AGGREGATOR_URL: NOBODY,
  },
  "scheduler-plugin": { ISOCHRONE_SCHEDULER_HOST: "127.0.0.1", ISOCHRONE_SCHEDULER_PORT: "0" },
};

describe("a service whose log nobody reads any more", () => {
  it.each(Object.entries(SERVICES))("%s ends after SIGTERM", async (service, settings) => {
    const main = join(import.meta.dirname, "..", "..", service, "src", "main.ts");
    const env = { PATH: process.env["PATH"], ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig, ...settings };
    const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "pipe"] });
    try {
      const exit = once(child, "exit");
      let said = "";
      child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await Promise.race([once(child.stdout, "data"), exit]);
      expect([child.exitCode, said]).toEqual([null, ""]);
      child.stdout.destroy();
      child.stderr.destroy();
      child.kill("SIGTERM");
      const [code, signal] = (await exit) as [number | null, string | null];
      expect(signal).toBeNull();
      expect([0, 1]).toContain(code);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
