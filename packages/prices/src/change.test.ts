// Hand-computed costs of other placements or routing. A channel of GB carries a billion bytes per month;
// between AWS zones this costs 0.02 USD.
import type { Channel, ClusterNode, Demand, RoutingScope, Workload } from "@isochrone/topology";
import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { describe, expect, test } from "vitest";
import { billOf, MONTH_SECONDS } from "./bill.ts";
import { NO_CHANGE, type Change } from "./change.ts";
import { PriceTable } from "./table.ts";

const GB = 1e9 / MONTH_SECONDS;
const PRICES = PriceTable.of(null);
const at = (name: string, zone: string): ClusterNode =>
  node(name, { provider: "aws", region: "us-east-1", zone });
const NODES = [at("a1", "a"), at("a2", "a"), at("b1", "b"), at("c1", "c")];

const changeOf = (
  moves: Record<string, string>,
  near: Record<string, readonly RoutingScope[]> = {},
): Change => ({
  moves: new Map(Object.entries(moves).map(([pod, to]) => [`shop/${pod}`, to])),
  routing: new Map(Object.entries(near).map(([name, scopes]) => [`shop/${name}`, scopes])),
});

const costs = (
  workloads: readonly Workload[],
  channels: readonly Channel[],
  change: Change,
  services: Demand["services"] = [],
): number | null => {
  const stamp = { version: 1, observedAt: "2026-01-01T00:00:00Z", windowSeconds: 30 };
  const workflows = [workflowSnapshot([...workloads], [...channels])];
  return billOf({ ...stamp, nodes: NODES, workflows, demand: { services } }, PRICES, change).total.perMonth;
};

describe("a bill of another placement", () => {
  const P = workload("p", { "p-1": "a1", "p-2": "b1" });
  const Q = workload("q", { "q-1": "a1" });

  test("has moved pods at their new nodes: of 4 GB the half that crossed doesn't any more", () => {
    const channels = [channel("p", "q", 4 * GB)];
    expect(costs([P, Q], channels, NO_CHANGE)).toBeCloseTo(0.04, 12);
    expect(costs([P, Q], channels, changeOf({ "p-2": "a2" }))).toBeCloseTo(0, 12);
    expect(costs([P, Q], channels, changeOf({ "q-1": "c1" }))).toBeCloseTo(0.08, 12);
  });

  test("has callers take along what they were seen to ask", () => {
    const zones = ["a", "b"].map((zone, index) => ({
      zone,
      requestsPerSecond: [6, 2][index]!,
      errorRatio: 0,
      inTimeRatio: null,
      latencyMs: { p50: 1, p90: 1, p99: 1 },
      ageSeconds: 1,
    }));
    const services = [{ namespace: "shop", name: "q", deadlineMs: null, zones }];
    const channels = [channel("p", "q", 4 * GB, { requestsPerSecond: 8 })];
    expect(costs([P, Q], channels, NO_CHANGE, services)).toBeCloseTo(0.02, 12);
    // p-1, which sends three quarters, leaves q's zone.
    expect(costs([P, Q], channels, changeOf({ "p-1": "c1" }), services)).toBeCloseTo(0.08, 12);
    expect(costs([P, Q], channels, changeOf({ "p-1": "b1", "p-2": "a1" }), services)).toBeCloseTo(0.06, 12);
  });
});

describe("a bill of another routing", () => {
  const NEAR: Record<string, readonly RoutingScope[]> = { api: ["zone"] };
  const WEB = workload("web", { "w-1": "a1", "w-2": "a1", "w-3": "a2", "w-4": "b1" });
  const API = workload("api", { "x-1": "a1", "x-2": "b1" });
  const DB = workload("db", { "d-1": "a1" });

  test("keeps traffic in its zone", () => {
    expect(costs([WEB, API], [channel("web", "api", 4 * GB)], NO_CHANGE)).toBeCloseTo(0.04, 12);
    expect(costs([WEB, API], [channel("web", "api", 4 * GB)], changeOf({}, NEAR))).toBeCloseTo(0, 12);
  });

  test("shifts what replicas send on as it shifts what they receive", () => {
    const channels = [channel("web", "api", 4 * GB), channel("api", "db", 8 * GB)];
    // api in b first sends half of 8 GB across, then a quarter, the share of web in b.
    expect(costs([WEB, API, DB], channels, NO_CHANGE)).toBeCloseTo(0.04 + 0.08, 12);
    expect(costs([WEB, API, DB], channels, changeOf({}, NEAR))).toBeCloseTo(0.04, 12);
    expect(costs([WEB, API, DB], channels, changeOf({ "w-4": "a2" }, NEAR))).toBeCloseTo(0, 12);
  });

  test("lets a replica that received nothing send by the share that it will have", () => {
    const channels = [channel("web", "api", 4 * GB, { routing: "nearest" }), channel("api", "db", 8 * GB)];
    const idle = workload("api", { "x-1": "a1", "x-2": "b1", "x-3": "c1" });
    // Nobody calls from c. With w-4 there, x-2 in b is idle and x-3 sends a quarter across. x-1 keeps its
    // uncounted even share.
    expect(costs([WEB, idle, DB], channels, NO_CHANGE)).toBeCloseTo((0.02 * 8 * 2) / 3, 12);
    expect(costs([WEB, idle, DB], channels, changeOf({ "w-4": "c1" }))).toBeCloseTo(
      (0.02 * 8 * 0.75) / (1 + 0.75),
      12,
    );
  });

  test("follows chains, and ends where calls go in a circle", () => {
    const loop = [channel("web", "api", 4 * GB), channel("api", "web", 4 * GB)];
    expect(costs([WEB, API], loop, changeOf({}, { web: ["zone"], api: ["zone"] }))).toBeCloseTo(0, 12);
    expect(costs([WEB, API], loop, changeOf({}, { web: ["zone"] }))).toBeGreaterThan(0);
  });
});
