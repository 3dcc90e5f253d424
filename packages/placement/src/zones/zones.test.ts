import { describe, expect, it } from "vitest";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { channel, node, workload } from "../testing/problems.ts";
import { zoneAdvice, type ZoneServiceInput } from "./advice.ts";
import { endpointsWithCapacity, type Endpoint } from "./capacity.ts";
import { zoneDemand, type WorkloadDemand } from "./demand.ts";
import { responseTimeMs } from "./response-time.ts";
import { endpointsFor } from "./routing.ts";

const AT = "2026-01-01T00:00:00.000Z";
const cluster = new ClusterGraph({
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: [
    node("a1", 2_000, 1e9, { zone: "a", allocatableCpuMillicores: 4_000 }),
    node("b1", 3_000, 1e9, { zone: "b", allocatableCpuMillicores: 4_000 }),
    node("x1", null, null, { allocatableCpuMillicores: 4_000 }),
  ],
  links: [],
});

describe("where requests of a zone go", () => {
  const two = [{ zone: "a" }, { zone: "b" }];

  it("is its own zone, all endpoints where that has none, and all when one endpoint has no zone", () => {
    expect(endpointsFor(two, "a", "same-zone")).toEqual([{ zone: "a" }]);
    expect(endpointsFor(two, "c", "same-zone")).toEqual(two);
    expect(endpointsFor(two, null, "same-zone")).toEqual(two);
    expect(endpointsFor(two, "a", "all")).toEqual(two);
    const homeless = [...two, { zone: null }];
    expect(endpointsFor(homeless, "a", "same-zone")).toEqual(homeless);
  });
});

describe("what zones ask", () => {
  const workflow = (web: Parameters<typeof channel>[3], bytes: number | null = 3_000): WorkflowGraph =>
    new WorkflowGraph({
      version: 1,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: [
        workload("web", { cpu: 1, memory: 1 }, { "w-1": "a1", "w-2": "a1", "w-3": "b1" }),
        workload("db", { cpu: 1, memory: 1 }, { "d-1": "a1" }),
      ],
      channels: [channel("web", "db", bytes, web), channel("job", "db", 500, { requestsPerSecond: 1 })],
    });

  it("comes evenly from the callers' replicas; callers that the graph doesn't show have no zone", () => {
    const demand = zoneDemand({
      cluster,
      workflow: workflow({ requestsPerSecond: 30 }),
      workload: "db",
      bytesPerRequest: 0,
    });
    expect(demand).toEqual({
      zones: [
        { zone: "a", bytesPerSecond: 2_000, requestsPerSecond: 20 },
        { zone: "b", bytesPerSecond: 1_000, requestsPerSecond: 10 },
        { zone: null, bytesPerSecond: 500, requestsPerSecond: 1 },
      ],
      unknownCallers: [],
    });
  });

  it("is what proxies count, where they do, with the bytes divided likewise", () => {
    const zone = { errorRatio: 0, inTimeRatio: null, ageSeconds: 1 };
    const latencyMs = { p50: 1, p90: 1, p99: 1 };
    const { zones } = zoneDemand({
      cluster,
      workflow: workflow({ requestsPerSecond: 30 }),
      workload: "db",
      counted: {
        namespace: "shop",
        name: "db",
        deadlineMs: null,
        zones: [
          { zone: "a", requestsPerSecond: 1, latencyMs, ...zone },
          { zone: "b", requestsPerSecond: 6, latencyMs, ...zone },
        ],
      },
      bytesPerRequest: 0,
    });
    expect(zones).toEqual([
      { zone: "a", bytesPerSecond: 500, requestsPerSecond: 1 },
      { zone: "b", bytesPerSecond: 3_000, requestsPerSecond: 6 },
    ]);
  });

  it("names callers of whom nobody knows the traffic", () => {
    const demand = zoneDemand({ cluster, workflow: workflow({}, null), workload: "db", bytesPerRequest: 0 });
    expect(demand.unknownCallers).toEqual(["web"]);
  });
});

describe("what endpoints can get", () => {
  const pod = (name: string, on: string, request: number | null, limit: number | null = null) => ({
    name,
    node: on,
    cpuRequestMillicores: request,
    cpuLimitMillicores: limit,
  });
  const capacity = (pods: Parameters<typeof endpointsWithCapacity>[0]["pods"]): (number | null)[] =>
    endpointsWithCapacity({ cluster, pods, cpuMillicores: 500, maxCpuUse: 0.75 }).map(
      ({ capacityMillicores }) => capacityMillicores,
    );

  it("is an even part of what others leave of the node, up to the limit", () => {
    // 2,000 of 4,000 are used, 1,000 of it by these two. Others' 1,000 occupy 1,333 at a usable fraction of
    // 75 %.
    expect(capacity([pod("d-1", "a1", 100), pod("d-2", "a1", 100, 700)])).toEqual([
      expect.closeTo(4_000 / 3, 6),
      700,
    ]);
  });

  it("is the request where that is more, or the node's use isn't known; else unknown", () => {
    expect(capacity([pod("d-1", "b1", 3_900)])).toEqual([3_900]);
    expect(capacity([pod("d-1", "x1", 250, 500), pod("d-2", "x1", null, 500)])).toEqual([250, null]);
  });
});

describe("response times", () => {
  it("are those of M/M/1: exponential with the rate that is left, and the round trip", () => {
    // 10 ms of work, 60 requests/s: a rest of 40/s, so p95 = ln 20 / 0.04.
    const server = { share: 1, roundTripMs: 3, requestsPerSecond: 60, capacityMillicores: 1_000 };
    expect(responseTimeMs([server], 10, 0.95)).toBeCloseTo(3 + Math.log(20) / 0.04, 6);
    expect(responseTimeMs([{ ...server, requestsPerSecond: 100 }], 10, 0.95)).toBe(Infinity);
  });

  it("are longer at half a core and shorter at two", () => {
    const at = (capacityMillicores: number): number =>
      responseTimeMs([{ share: 1, roundTripMs: 0, requestsPerSecond: 40, capacityMillicores }], 10, 0.95);
    expect(at(500)).toBeCloseTo(Math.log(20) / 0.01, 6);
    expect(at(2_000)).toBeLessThan(at(1_000));
  });
});

const endpoint = (
  name: string,
  zone: string | null,
  capacityMillicores: number | null = 1_000,
): Endpoint => ({
  name,
  zone,
  capacityMillicores,
});
const asked = (...rates: readonly (readonly [string | null, number])[]): WorkloadDemand => ({
  zones: rates.map(([zone, rate]) => ({ zone, bytesPerSecond: rate * 1e3, requestsPerSecond: rate })),
  unknownCallers: [],
});
const input = (over: Partial<ZoneServiceInput> = {}): ZoneServiceInput => ({
  demand: asked(["a", 30], ["b", 30]),
  endpoints: [endpoint("d-1", "a"), endpoint("d-2", "b")],
  cpuMillicores: 300,
  maxCpuUse: 0.75,
  roundTripMs: (from, to) => (from === to ? 0.2 : 2),
  ...over,
});

describe("the advice", () => {
  it("is safe where each zone carries what it asks, and the network gets shorter", () => {
    const { verdict, reasons, zones, lost } = zoneAdvice(input());
    expect([verdict, reasons]).toEqual(["safe", []]);
    expect(zones[0]).toMatchObject({ zone: "a", causedMillicores: 300, loadNow: 0.3, loadThen: 0.3 });
    expect(zones[0]!.p95MsThen!).toBeLessThan(zones[0]!.p95MsNow!);
    expect(lost).toEqual({ zone: "a", zonesLeft: 1, load: 0.6 });
  });

  it("names the zone that starves, with its figures", () => {
    const { verdict, reasons } = zoneAdvice(
      input({ demand: asked(["a", 90], ["b", 10]), cpuMillicores: 500 }),
    );
    expect(verdict).toBe("starves");
    expect(reasons).toEqual([
      "zone a would starve: its callers cause 900 millicores, its endpoint carries 750 (75 % of 1000); the busiest would be used to 90 %, now 50 %",
    ]);
  });

  it("counts what comes from zones without endpoints, who ask all", () => {
    const { verdict, zones } = zoneAdvice(input({ demand: asked(["a", 60], ["c", 40]), cpuMillicores: 500 }));
    expect(verdict).toBe("starves");
    expect(zones.map(({ loadThen }) => loadThen)).toEqual([0.8, 0.2, null]);
  });

  it("is slower where the zone carries it but makes it wait", () => {
    const { verdict, reasons } = zoneAdvice(input({ demand: asked(["a", 42], ["b", 18]) }));
    expect(verdict).toBe("slower");
    expect(reasons[0]).toMatch(/^zone a would be slower: p95 .* used to 42 %, now 30 %$/);
  });

  it.each([
    ["the use of pods", { cpuMillicores: null }, /CPU use of its pods is unknown/],
    [
      "capacity",
      { endpoints: [endpoint("d-1", "a", null), endpoint("d-2", "b")] },
      /1 of 2 endpoints can get/,
    ],
    ["traffic", { demand: { ...asked(["a", 30]), unknownCallers: ["web"] } }, /traffic of web is unknown/],
    ["any caller", { demand: asked() }, /nobody is seen to call it/],
    [
      "callers' zone",
      { demand: asked(["a", 30], [null, 100]), cpuMillicores: 500 },
      /callers of unknown zone/,
    ],
  ])("is unknown without %s, never safe", (_, over, reason) => {
    const { verdict, reasons } = zoneAdvice(input(over));
    expect(verdict).toBe("unknown");
    expect(reasons.join()).toMatch(reason);
  });

  it("says where kube-proxy would go on as before", () => {
    const verdictOf = (...endpoints: Endpoint[]): [string, string | undefined] => {
      const { verdict, reasons } = zoneAdvice(input({ endpoints }));
      return [verdict, reasons[0]];
    };
    expect(verdictOf()).toEqual(["without-effect", "it has no ready endpoint"]);
    expect(verdictOf(endpoint("d-1", "a"), endpoint("d-2", null))[1]).toMatch(/1 of 2 endpoints/);
    expect(verdictOf(endpoint("d-1", "a"))).toEqual(["without-effect", "all endpoints are in zone a"]);
  });

  it("doesn't judge times where requests aren't counted, and says so", () => {
    const zones = [
      { zone: "a", bytesPerSecond: 1e4, requestsPerSecond: null },
      { zone: "b", bytesPerSecond: 1e4, requestsPerSecond: 5 },
    ];
    const { verdict, reasons } = zoneAdvice(input({ demand: { zones, unknownCallers: [] } }));
    expect(verdict).toBe("safe");
    expect(reasons.join()).toMatch(/isn't judged/);
  });
});
