import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { describe, expect, it } from "vitest";
import { channel, links, node, workload } from "../testing/problems.ts";
import { serviceZoneAdvice } from "./service-advice.ts";

const AT = "2026-01-01T00:00:00.000Z";
const nodes = ["a1", "b1"].map((name) =>
  node(name, 2_000, 1e9, { zone: name[0]!, allocatableCpuMillicores: 4_000 }),
);

function adviceOn(web: Readonly<Record<string, string>>, pods: readonly ReturnType<typeof pod>[]) {
  return serviceZoneAdvice({
    cluster: new ClusterGraph({
      version: 1,
      observedAt: AT,
      windowSeconds: 30,
      nodes,
      links: links(["a1", "b1", 4]),
    }),
    workflow: new WorkflowGraph({
      version: 1,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: [
        workload("web", { cpu: 1, memory: 1 }, web),
        workload("db", { cpu: 200, memory: 1 }, { "d-1": "a1", "d-2": "b1" }),
      ],
      channels: [channel("web", "db", 8_000, { requestsPerSecond: 40 })],
    }),
    workload: "db",
    pods,
    bytesPerRequest: 0,
    maxCpuUse: 0.75,
  });
}

interface PodFields {
  readonly ready?: string;
  readonly limit?: string | null;
}

function pod(name: string, on: string, { ready = "True", limit = "500m" }: PodFields = {}) {
  const resources = { requests: { cpu: "100m" }, ...(limit === null ? {} : { limits: { cpu: limit } }) };
  return {
    metadata: { name, namespace: "shop" },
    spec: { nodeName: on, containers: [{ name: "main", resources }] },
    status: { conditions: [{ type: "Ready", status: ready }] },
  };
}

describe("the advice for a Service", () => {
  it("takes limits from pods, costs and use from the graphs", () => {
    const { verdict, zones } = adviceOn({ "w-1": "a1", "w-2": "b1" }, [pod("d-1", "a1"), pod("d-2", "b1")]);
    expect(verdict).toBe("safe");
    expect(zones).toMatchObject([
      {
        zone: "a",
        endpoints: 1,
        requestsPerSecond: 20,
        capacityMillicores: 500,
        loadNow: 0.4,
        loadThen: 0.4,
      },
      {
        zone: "b",
        endpoints: 1,
        requestsPerSecond: 20,
        capacityMillicores: 500,
        loadNow: 0.4,
        loadThen: 0.4,
      },
    ]);
    expect(zones[0]!.p95MsNow! - zones[0]!.p95MsThen!).toBeGreaterThan(0.5);
  });

  it("sees a zone starve whose callers are all there, and carry it without a limit", () => {
    const web = { "w-1": "a1", "w-2": "a1" };
    const { verdict } = adviceOn(web, [pod("d-1", "a1"), pod("d-2", "b1")]);
    expect(verdict).toBe("starves");
    const free = adviceOn(web, [pod("d-1", "a1", { limit: null }), pod("d-2", "b1")]);
    // 4,000 minus 1,800 / 0.75 for other pods.
    expect(free.zones[0]!.capacityMillicores).toBeCloseTo(1_600, 6);
    expect(free.verdict).not.toBe("starves");
  });

  it("doesn't count pods that aren't ready", () => {
    const { verdict, reasons } = adviceOn({ "w-1": "a1" }, [
      pod("d-1", "a1"),
      pod("d-2", "b1", { ready: "False" }),
    ]);
    expect([verdict, reasons]).toEqual(["without-effect", ["all endpoints are in zone a"]]);
  });
});
