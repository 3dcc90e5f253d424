// Runs the command as a user types it. Invalid input gives one clear line and an exit code.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const command = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");
const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function isochrone(
  args: readonly string[],
  env: Record<string, string> = {},
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [command, ...args], {
    encoding: "utf8",
    timeout: 30_000,
    env: { ...process.env, ...env },
  });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const DUMP = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: { name: n1, annotations: { isochrone.dev/available-cpu: "2", isochrone.dev/available-memory: 4Gi, isochrone.dev/network-cost-n2: "10" } }
    status: { allocatable: { cpu: "4", memory: 8Gi }, conditions: [{ type: Ready, status: "True" }] }
  - apiVersion: v1
    kind: Node
    metadata: { name: n2, annotations: { isochrone.dev/available-cpu: "2", isochrone.dev/available-memory: 4Gi, isochrone.dev/network-cost-n1: "10" } }
    status: { allocatable: { cpu: "4", memory: 8Gi }, conditions: [{ type: Ready, status: "True" }] }
  - apiVersion: apps/v1
    kind: Deployment
    metadata: { name: web, namespace: shop, labels: { isochrone.dev/workflow: shop }, annotations: { isochrone.dev/cpu-usage: 500m, isochrone.dev/memory-usage: 1Gi, isochrone.dev/traffic-db: "1000" } }
    spec: { selector: { matchLabels: { app: web } }, template: { metadata: { labels: { app: web } } } }
  - apiVersion: apps/v1
    kind: Deployment
    metadata: { name: db, namespace: shop, labels: { isochrone.dev/workflow: shop } }
    spec: { selector: { matchLabels: { app: db } }, template: { metadata: { labels: { app: db } } } }
  - apiVersion: apps/v1
    kind: ReplicaSet
    metadata: { name: web-1, namespace: shop, ownerReferences: [{ apiVersion: apps/v1, kind: Deployment, name: web, uid: u1, controller: true }] }
  - apiVersion: apps/v1
    kind: ReplicaSet
    metadata: { name: db-1, namespace: shop, ownerReferences: [{ apiVersion: apps/v1, kind: Deployment, name: db, uid: u2, controller: true }] }
  - apiVersion: v1
    kind: Pod
    metadata: { name: db-1-a, namespace: shop, labels: { app: db, isochrone.dev/workflow: shop }, ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: db-1, uid: u4, controller: true }] }
    spec: { nodeName: n2, containers: [{ name: c }] }
    status: { phase: Running }
  - apiVersion: v1
    kind: Pod
    metadata: { name: web-1-a, namespace: shop, labels: { app: web, isochrone.dev/workflow: shop }, ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u3, controller: true }] }
    spec: { containers: [{ name: c }] }
    status: { phase: Pending }
`;

describe("isochrone score", () => {
  it("scores a dump by the paper's own sum", () => {
    const { status, stdout, stderr } = isochrone([
      "score",
      "--cluster",
      file("dump.yaml", DUMP),
      "--pod",
      "shop/web-1-a",
      "--mode",
      "raw",
      "-o",
      "json",
    ]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const { pod, strategy, mode, nodes } = JSON.parse(stdout);
    expect({ pod, strategy, mode }).toEqual({ pod: "web-1-a", strategy: "resource-network", mode: "raw" });
    // resource: 0.5 (2000-500)/500 100 + 0.5 (4-1)/1 100 = 300; network: n1 -10 ms x 1000 B/s = -10000, n2 0;
    // the total is half of each.
    expect(nodes.map(({ name, raw }: { name: string; raw: number }) => [name, raw])).toEqual([
      ["n1", 0.5 * 300 - 0.5 * 10_000],
      ["n2", 0.5 * 300],
    ]);
    expect(nodes[1].score).toBe(100);
  });

  it.each<[string, string[], string[]]>([
    [
      "a pod's file that isn't there",
      ["--cluster", file("dump1.yaml", DUMP), "--pod", "nowhere.yaml"],
      ["--pod"],
    ],
    [
      "a dump that is no YAML",
      ["--cluster", file("bad.yaml", "items: [\n  {"), "--pod", "a"],
      ["bad.yaml", "line"],
    ],
    [
      "a dump without nodes",
      ["--cluster", file("empty.yaml", "apiVersion: v1\nkind: List\nitems: []\n"), "--pod", "a"],
      ["a"],
    ],
    ["a pod that isn't in the dump", ["--cluster", file("dump2.yaml", DUMP), "--pod", "nobody"], ["nobody"]],
    [
      "a node with a malformed quantity",
      [
        "--cluster",
        file("quantity.yaml", DUMP.replace('available-cpu: "2"', "available-cpu: much")),
        "--pod",
        "shop/web-1-a",
      ],
      ["quantity.yaml", "much"],
    ],
    [
      "an unknown strategy",
      ["--cluster", file("dump3.yaml", DUMP), "--pod", "shop/web-1-a", "--strategy", "luck"],
      ["luck"],
    ],
    [
      "weights that don't add up",
      ["--cluster", file("dump4.yaml", DUMP), "--pod", "shop/web-1-a", "--set", "alpha=0.9,beta=0.9"],
      ["alpha", "0.9"],
    ],
  ])("answers %s with a line that names it", (_, args, words) => {
    const { status, stdout, stderr } = isochrone(["score", ...args]);
    expect(status).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr.trim().split("\n")).toHaveLength(1);
    for (const word of words) expect(stderr).toContain(word);
  });
});

describe("isochrone", () => {
  it.each([
    [["up", "--nodes", "99"], "99"],
    [["score", "--cluster", "nowhere.yaml", "--pod", "a"], "nowhere.yaml"],
  ])("refuses %j as wrong usage, naming the value", (args, value) => {
    const { status, stderr } = isochrone(args);
    expect(status).toBe(2);
    expect(stderr).toContain(value);
  });

  it("reports every mistake of a configuration at once, each with setting, rule and value", () => {
    const { status, stderr } = isochrone(["up", "--port", "0"], {
      ISOCHRONE_AGGREGATOR_COST_QUANTILE: "p42",
      ISOCHRONE_AGGREGATOR_PROBE_PEERS: "none",
    });
    expect(status).toBe(1);
    for (const word of ["costQuantile", "p42", "probePeers", "none"]) expect(stderr).toContain(word);
  });

  it("names file and rule of a manifest that can't run", () => {
    const cycle = `apiVersion: apps/v1
kind: Deployment
metadata: { name: a, labels: { isochrone.dev/workflow: w } }
spec: { selector: { matchLabels: { app: a } }, template: { metadata: { labels: { app: a }, annotations: { lab.isochrone.dev/calls: "a", lab.isochrone.dev/entry: "true" } } } }
`;
    const { status, stderr } = isochrone(["up", "--port", "0", "--manifest", file("cycle.yaml", cycle)]);
    expect(status).toBe(1);
    expect(stderr).toContain("cycle.yaml");
  });

  it("says what it can't reach", () => {
    const { status, stderr } = isochrone(["graph", "--server", "http://127.0.0.1:1"]);
    expect(status).toBe(1);
    expect(stderr).toContain("127.0.0.1:1");
  });
});
