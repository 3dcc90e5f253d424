import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { ManualClock } from "@isochrone/runtime/testing";
import {
  ClusterGraph,
  WorkflowGraph,
  type Demand,
  type PriceList,
  type SavingsLine,
} from "@isochrone/topology";
import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { describe, expect, test } from "vitest";
import { PlanLog } from "../domain/plan-log.ts";
import type { GraphSource } from "../ports/ports.ts";
import { SavingsView } from "./savings-view.ts";

const GB = 1e9 / (730 * 3600);
const ZONES: Readonly<Record<string, string>> = { a1: "a", a2: "a", b1: "b" };
const PRICES: PriceList = {
  currency: "USD",
  prices: ["same-zone", "zone-to-zone"].map((scope, index) => ({
    provider: "aws",
    scope,
    from: "*",
    to: null,
    out: 0.01 * index,
    in: 0.01 * index,
    per: "GB",
    currency: "USD",
    source: "test",
    date: "2026-10",
  })),
};
const PODS: Readonly<Record<string, string>> = {
  "web-1": "a1",
  "web-2": "a1",
  "web-3": "b1",
  "api-1": "a2",
  "api-2": "b1",
};

function podOf(name: string, cpu: string): KubernetesObject {
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: name.slice(0, 3),
    uid: "rs",
    controller: true,
  };
  return {
    ...KINDS.pod,
    metadata: { namespace: "shop", name, uid: `uid-${name}`, ownerReferences: [owner] },
    spec: {
      nodeName: PODS[name],
      containers: [{ name: "main", resources: { requests: { cpu }, limits: { cpu } } }],
    },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

interface Asked {
  readonly cpu?: string;
  readonly noProposals?: string;
  readonly readPrices?: () => Promise<PriceList>;
  readonly graphs?: GraphSource;
}

function viewOf({
  cpu = "1",
  noProposals,
  readPrices = () => Promise.resolve(PRICES),
  graphs = shop(),
}: Asked = {}) {
  const clock = new ManualClock(Date.parse("2026-01-31T12:00:00Z"));
  const plans = new PlanLog(1);
  const costs = { network: 1, pressure: 0, total: 1 };
  const move = {
    name: "api-2",
    workload: "api",
    from: "b1",
    node: "a1",
    step: 1,
    gain: 1,
    gainError: 0,
    reason: null,
    decision: null,
  };
  plans.propose([
    {
      id: "p",
      at: "2026-01-31T12:00:00Z",
      workflow: "shop/flow",
      durationMs: 1,
      today: costs,
      cost: costs,
      savedRatio: 1,
      gain: 1,
      gainError: 0,
      perRequest: null,
      lowerBound: null,
      ended: "converged",
      explanation: [],
      pods: [
        { ...move, obstacle: null },
        { ...move, name: "web-3", workload: "web", obstacle: "no room" },
      ],
    },
  ]);
  const demand: Demand = { version: 1, observedAt: "2026-01-31T12:00:00Z", windowSeconds: 300, services: [] };
  return new SavingsView({
    graphs,
    readDemand: () => Promise.resolve(demand),
    readPrices,
    pods: { isSynced: true, get: (_, name) => (name in PODS ? podOf(name, cpu) : null) },
    plans,
    noProposals: noProposals ?? null,
    maxCpuUse: 0.75,
    bytesPerRequest: 1_000,
    keptMs: 1_000,
    clock,
  });
}

/** web exchanges 6 GB a month with api, at 30 requests/s; each api pod uses 200 millicores for it. */
function shop(): GraphSource {
  const nodes = Object.entries(ZONES).map(([name, zone]) =>
    node(name, {
      provider: "aws",
      region: "us-east-1",
      zone,
      allocatableCpuMillicores: 4_000,
      availableCpuMillicores: 3_000,
      usageAgeSeconds: 0,
    }),
  );
  const pods = (name: string) =>
    Object.fromEntries(Object.entries(PODS).filter(([pod]) => pod.startsWith(name)));
  const stamp = { version: 1, observedAt: "2026-01-31T12:00:00Z", windowSeconds: 300 };
  const cluster = new ClusterGraph({ ...stamp, nodes, links: [] });
  const workflow = new WorkflowGraph(
    workflowSnapshot(
      [workload("web", pods("web")), workload("api", pods("api"), { cpuMillicores: 200 })],
      [channel("web", "api", 6 * GB, { requestsPerSecond: 30 })],
    ),
  );
  return { ...NO_GRAPHS, cluster: () => cluster, workflows: () => [workflow] };
}

const NO_GRAPHS: GraphSource = {
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  cluster: () => null,
  workflow: () => null,
  ready: () => false,
};

const lineOf = async (asked: Asked, kind: SavingsLine["kind"]): Promise<SavingsLine> => {
  const { lines, trouble } = await viewOf(asked).read();
  expect(trouble).toBeNull();
  return lines.find((line) => line.kind === kind)!;
};

describe("savings of a cluster", () => {
  test("come with the commands that bring them", async () => {
    const { perMonth, routing, moves, both } = await lineOf({}, "workflow");
    expect(perMonth).toBeCloseTo(0.06, 9);
    expect(routing).toMatchObject({ isAdvised: true, zones: 2 });
    expect(routing.savedPerMonth).toBeCloseTo(0.06, 9);
    expect(routing.headroomRatio).toBeCloseTo(1 - 0.4 * (2 / 3), 9);
    expect(routing.commands).toEqual([
      `kubectl -n shop patch service api --type merge -p '{"spec":{"trafficDistribution":"PreferSameZone"}}'`,
    ]);
    // Then only the third of web in b crosses zones. The second move waits for room.
    expect(moves.savedPerMonth).toBeCloseTo(0.02, 9);
    expect(moves.commands).toEqual(["isochrone plan shop --apply --pods api-2"]);
    expect(both).toMatchObject({ isAdvised: false, commands: [] });
  });

  test("name the zone that would starve", async () => {
    // A pod in a would need 267 of 300 millicores.
    const { routing } = await lineOf({ cpu: "300m" }, "service");
    expect(routing).toMatchObject({ isAdvised: false, commands: [] });
    expect(routing.savedPerMonth).toBeCloseTo(0.06, 9);
    expect(routing.reason).toMatch(/^shop\/api: zone a would starve: /);
  });

  test("without a planner are those of routing alone", async () => {
    const { routing, moves } = await lineOf({ noProposals: "the planner is off" }, "workflow");
    expect(routing.isAdvised).toBe(true);
    expect(moves).toMatchObject({ savedPerMonth: 0, isAdvised: false, reason: "the planner is off" });
  });

  test("are not there without graphs or prices, and the reason is", async () => {
    expect(await viewOf({ graphs: NO_GRAPHS }).read()).toMatchObject({
      lines: [],
      trouble: "no graph was read yet",
    });
    const failing = viewOf({ readPrices: () => Promise.reject(new Error("status 503")) });
    expect((await failing.read()).trouble).toBe("prices and demand can't be read: status 503");
  });
});
