// The workflow graph must show the manifest's measured channels and none of the sample's.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSystem, eventually } from "../harness/embedded.ts";

const service = (name: string, calls: string, entry = false): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: shop, labels: { isochrone.dev/workflow: checkout } }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata:
      labels: { app: ${name}, isochrone.dev/workflow: checkout }
      annotations:
        lab.isochrone.dev/calls: "${calls}"
        lab.isochrone.dev/response-bytes: "2000"
        ${entry ? 'lab.isochrone.dev/entry: "true"' : 'lab.isochrone.dev/request-bytes: "100"'}
    spec:
      containers:
        - name: app
          image: lab
          ports: [{ containerPort: 8080 }]
          resources: { requests: { cpu: 50m, memory: 64Mi } }
---
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { selector: { app: ${name} }, ports: [{ port: 80, targetPort: 8080 }] }
`;

describe("the embedded cluster with a manifest of its own", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
  let system: EmbeddedSystem;

  beforeAll(async () => {
    const manifest = join(folder, "checkout.yaml");
    writeFileSync(
      manifest,
      [service("front", "cart,stock", true), service("cart", "stock"), service("stock", "")].join(""),
    );
    system = await EmbeddedSystem.start(
      "--manifest",
      manifest,
      "--nodes",
      "3",
      "--window",
      "10s",
      "--acts",
      "score",
    );
  }, 90_000);

  afterAll(async () => {
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  it("shows that workflow's channels and measured rates, and no others", async () => {
    const workflow = await eventually("three channels with traffic", 60_000, async () => {
      const found = await system.get<WorkflowGraphSnapshot>("page", "/api/v1/graph/workflows/shop/checkout");
      return (
        found.channels.length === 3 &&
        found.channels.every(({ requestsPerSecond }) => Math.abs((requestsPerSecond ?? 0) - 5) < 0.5) &&
        found
      );
    });
    expect(workflow.channels.map(({ source, target }) => `${source} ${target}`).sort()).toEqual([
      "cart stock",
      "front cart",
      "front stock",
    ]);
    const { workflows } = await system.get<{ workflows: { name: string }[] }>(
      "page",
      "/api/v1/graph/workflows",
    );
    expect(workflows.map(({ name }) => name)).toEqual(["checkout"]);
  }, 70_000);

  it("measures every pair of the smaller cluster", async () => {
    const graph = await eventually("six pairs measured", 30_000, async () => {
      const found = await system.cluster();
      return (
        found.links.filter(({ method, rttMs }) => method === "udp_rr" && rttMs.p50 !== null).length === 6 &&
        found
      );
    });
    expect(graph.nodes).toHaveLength(3);
  }, 40_000);
});
