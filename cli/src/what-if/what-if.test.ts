import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { narrowedAffinity, type KubernetesObject } from "@isochrone/kubernetes";
import type { WhatIf } from "@isochrone/placement";
import { channel, links, node, workload } from "@isochrone/placement/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProgram } from "../program.ts";

const AT = "2026-01-01T00:10:00.000Z";
const zone = (name: string) => ({ zone: name, region: "us-east-1", provider: "aws" });

const GRAPHS = {
  cluster: {
    version: 812,
    observedAt: AT,
    windowSeconds: 30,
    nodes: [
      node("n1", null, null, zone("us-east-1a")),
      node("n2", null, null, zone("us-east-1b")),
      node("n3", null, null, zone("us-east-1b")),
    ],
    links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 2]),
  },
  workflows: [
    {
      version: 813,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: [
        workload("p", { cpu: 500, memory: 2e8 }, { "p-1": "n1" }),
        workload("q", { cpu: 100, memory: 1e8 }, { "q-1": "n2" }),
      ],
      channels: [channel("p", "q", 1_000_000)],
    },
  ],
  demand: null,
};

const pod = (name: string, nodeName: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, uid: name, namespace: "shop", labels: { app: name } },
  spec: { nodeName, containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
  status: { phase: "Running" },
});
const machine = ({ name }: { readonly name: string }): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/hostname": name } },
  status: {
    allocatable: { cpu: "2", memory: "8Gi", pods: "10" },
    conditions: [{ type: "Ready", status: "True" }],
  },
});
const DUMP = {
  apiVersion: "v1",
  kind: "List",
  items: [...GRAPHS.cluster.nodes.map(machine), pod("p-1", "n1"), pod("q-1", "n2")],
};

describe("isochrone what-if on files", () => {
  let folder: string;
  const file = (name: string): string => join(folder, name);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
    writeFileSync(file("dump.json"), JSON.stringify(DUMP));
    writeFileSync(file("graph.json"), JSON.stringify(GRAPHS));
    const row = { provider: "aws", scope: "zone-to-zone", from: "us-east-1", out: 1, in: 0, per: "GB" };
    const prices = [{ ...row, currency: "USD", source: "a contract", date: "2026-01-01" }];
    writeFileSync(file("prices.yaml"), JSON.stringify({ prices }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function said(...args: readonly string[]): Promise<string> {
    const lines: string[] = [];
    const files = ["--cluster", file("dump.json"), "--graph", file("graph.json"), "--time", "500ms"];
    const program = createProgram((line) => void lines.push(line));
    await program.parseAsync(["what-if", ...files, ...args], { from: "user" });
    return lines.join("\n");
  }
  const found = async (...args: readonly string[]): Promise<WhatIf> =>
    JSON.parse(await said(...args, "-o", "json")) as WhatIf;

  it("compares today, nothing replanned and the plan, by built-in prices and others", async () => {
    const { today, unplanned, planned, moves } = await found("--prices", file("prices.yaml"));
    const gigabytes = (1_000_000 * 730 * 3_600) / 1e9;
    expect(today).toMatchObject({ network: 1_000_000 * 10, meanRttMs: 10, currency: "USD" });
    expect(today.perMonth).toBeCloseTo(gigabytes * 0.02);
    expect(unplanned.perMonth).toBeCloseTo(gigabytes * 1);
    expect(planned).toMatchObject({ perMonth: 0, podsWithoutNode: 0 });
    expect(moves).toHaveLength(1);
  });

  it("drains a node and slows links, and says so in a table", async () => {
    const text = await said("--drain", "n1", "--slow", "n2:n3=x10", "--scale", "shop/q=1");
    expect(text).toMatch(/^today +10000 +10 /m);
    expect(text).toMatch(/^nothing replanned +20000 +20 /m);
    expect(text).toMatch(/^shop\/p-1 +n1 +n3 .*must move/m);
  });

  it("puts a pod where it is told to, and leaves it there", async () => {
    const { today, unplanned, moves } = await found("--move", "shop/p-1=n2");
    expect([today.meanRttMs, unplanned.meanRttMs]).toEqual([10, 0]);
    expect(moves).toContainEqual({
      pod: "shop/p-1",
      from: "n1",
      unplanned: "n2",
      planned: "n2",
      must: false,
    });
  });

  it("moves pods off the nodes that a plan once bound them to, as of a cluster", async () => {
    const [bound, other] = [pod("p-1", "n1"), pod("q-1", "n2")];
    const affinity = narrowedAffinity(bound, [{ name: "n1", hostname: "n1" }]);
    const annotations = { "isochrone.dev/planned-among": "n1" };
    const planned = {
      ...bound,
      metadata: { ...bound.metadata, annotations },
      spec: { ...bound.spec, affinity },
    };
    const items = [...GRAPHS.cluster.nodes.map(machine), planned, other];
    writeFileSync(file("planned.json"), JSON.stringify({ ...DUMP, items }));
    const { planned: outcome } = await found("--drain", "n1", "--cluster", file("planned.json"));
    expect(outcome.podsWithoutNode).toBe(0);
  });

  it("names pods that no node takes", async () => {
    const text = await said("--scale", "shop/p=7", "--lose-zone", "us-east-1a");
    expect(text).toMatch(/shop\/p-1-more-\d has no node: 0\/2 nodes are available: 2 Insufficient cpu\./);
  });

  it.each([
    [["--drain", "n9"], /drained node must be one of the cluster's, got n9/],
    [["--move", "shop/none=n2"], /moved pod must be one of the cluster's, got shop\/none/],
    [["--move", "shop/p-1=n9"], /moved pod's node must be one of the cluster's, got n9/],
    [["--lose-zone", "moon"], /lost zone must have a node, got moon/],
    [["--scale", "shop/none=1"], /got shop\/none/],
    [["-n", "nowhere"], /--namespace must have a workflow, got "nowhere"/],
  ])("refuses %j", async (args, message) => {
    await expect(said(...args)).rejects.toThrow(message);
  });
});
