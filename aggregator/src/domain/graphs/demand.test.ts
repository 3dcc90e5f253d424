import { allSteps } from "@isochrone/primitives/algorithms";
import { LATENCY_BOUNDS_MS, LATENCY_BUCKETS, type Metric } from "@isochrone/telemetry";
import type { ServiceDemand } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { counter, istio, recordOf } from "../../testing/records.ts";
import { EMPTY_CLUSTER, type ClusterState } from "../cluster-state.ts";
import { Ingest } from "../ingest/ingest.ts";
import { NO_FACTS, type ClusterFacts } from "../speakers/authority.ts";
import { OPEN_SPEAKERS } from "../speakers/speaker.ts";
import { demandSteps } from "./demand.ts";
import { Tables } from "./tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 10, maxChannels: 100, maxPods: 10, meshNamespaces: ["mesh"] };
const NOW = 1_700_000_000_000;
const ZONES: Readonly<Record<string, string | null>> = { n1: "west", n2: "east", n3: "west", n4: null };
const FACTS: ClusterFacts = { ...NO_FACTS, zoneOf: (node) => ZONES[node] };

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  ingest = new Ingest(
    tables,
    { maxFutureMs: 1000, maxSeries: 10_000, maxSources: 100 },
    { speakers: OPEN_SPEAKERS, facts: FACTS },
  );
});

interface Calls {
  readonly from?: string;
  readonly service?: string;
  readonly namespace?: string;
  readonly perSecond: number;
  readonly failedPerSecond?: number;
  readonly latenciesMs?: readonly number[];
}

function counted(calls: Calls, seconds: number, atMs: number): Metric[] {
  const { from = "shop", service = "db", namespace = "shop", latenciesMs = [1] } = calls;
  const labels = istio("source", "web", "", {
    source_workload_namespace: from,
    destination_service_name: service,
    destination_service_namespace: namespace,
  });
  const failed = (calls.failedPerSecond ?? 0) * seconds;
  const answered = calls.perSecond * seconds - failed;
  const within = (bound: number): number =>
    (answered * latenciesMs.filter((ms) => ms <= bound).length) / latenciesMs.length;
  const row = (le: string, value: number, more = {}): Metric =>
    counter(LATENCY_BUCKETS, { ...labels, ...more, le }, atMs, value, NOW - 1000);
  return [
    ...LATENCY_BOUNDS_MS.map((bound) => row(String(bound), within(bound))),
    row("+Inf", answered),
    ...(failed > 0 ? [row("+Inf", failed, { response_code: "5xx" })] : []),
  ];
}

function run(callsOf: Readonly<Record<string, readonly Calls[]>>): void {
  for (let second = 0; second <= 20; second += 2) {
    const atMs = NOW + second * 1000;
    for (const [node, calls] of Object.entries(callsOf)) {
      const metrics = calls.flatMap((each) => counted(each, second + 1, atMs));
      ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs }), atMs);
    }
  }
}

function demandOf(cluster: ClusterState = EMPTY_CLUSTER): ServiceDemand[] {
  const stamp = { version: 1, nowMs: NOW + 20_000 };
  return allSteps(demandSteps(tables, cluster, stamp, "full")).services;
}

describe("the demand of a Service", () => {
  test("is told by calling zone, whatever the node and workload, with failures and latencies", () => {
    run({
      n1: [{ perSecond: 30, failedPerSecond: 3, latenciesMs: [3, 3, 3, 200] }],
      n2: [{ perSecond: 10, latenciesMs: [40] }],
      n3: [{ perSecond: 20, latenciesMs: [3, 3, 3, 200] }],
      n4: [{ perSecond: 5 }],
    });
    const [service, ...others] = demandOf({ ...EMPTY_CLUSTER, deadlines: new Map([["shop/db", 100]]) });
    expect(others).toEqual([]);
    expect(service).toMatchObject({ namespace: "shop", name: "db", deadlineMs: 100 });
    expect(service!.zones.map(({ zone }) => zone)).toEqual([null, "east", "west"]);
    const [, east, west] = service!.zones;
    expect(west!.requestsPerSecond).toBeCloseTo(50, 6);
    expect(west!.errorRatio).toBeCloseTo(3 / 50, 6);
    expect(west!.inTimeRatio).toBeCloseTo((47 * 0.75) / 50, 6);
    expect(west!.latencyMs.p50).toBeCloseTo((5 * 2) / 3, 6);
    expect(west!.latencyMs.p99).toBeCloseTo(100 + 150 * 0.96, 6);
    expect(east!.requestsPerSecond).toBeCloseTo(10, 6);
    expect(east!.inTimeRatio).toBe(1);
  });

  test("has percentiles from the number of requests on that they need", () => {
    const percentilesOf = (perSecond: number): readonly boolean[] => {
      run({ n1: [{ perSecond, latenciesMs: [3] }] });
      const { p50, p90, p99 } = demandOf()[0]!.zones[0]!.latencyMs;
      return [p50, p90, p99].map((value) => value !== null);
    };
    expect(percentilesOf(0.5)).toEqual([true, false, false]);
    expect(percentilesOf(2)).toEqual([true, true, false]);
    expect(percentilesOf(8)).toEqual([true, true, true]);
  });

  test("has no share in time without a deadline, and within a bucket the share in proportion", () => {
    run({ n1: [{ perSecond: 10, latenciesMs: [60, 60] }] });
    expect(demandOf()[0]!.zones[0]!.inTimeRatio).toBeNull();
    const [service] = demandOf({ ...EMPTY_CLUSTER, deadlines: new Map([["shop/db", 75]]) });
    expect(service!.zones[0]!.inTimeRatio).toBeCloseTo(0.5, 6);
  });

  test("has no latency where all took longer than is counted", () => {
    run({ n1: [{ perSecond: 10, latenciesMs: [20_000] }] });
    const [service] = demandOf({ ...EMPTY_CLUSTER, deadlines: new Map([["shop/db", 10_000]]) });
    expect(service!.zones[0]).toMatchObject({ inTimeRatio: 0, latencyMs: { p50: null, p90: null } });
  });

  test("of another namespace's callers counts as far as the proxies at its own end saw it", () => {
    const seen = (second: number, atMs: number): Metric => {
      const labels = istio("destination", "spy", "db", { source_workload_namespace: "tenant" });
      return counter("istio_requests_total", labels, atMs, 4 * (second + 1), NOW - 1000);
    };
    for (let second = 0; second <= 20; second += 2) {
      const atMs = NOW + second * 1000;
      const claims = counted({ from: "tenant", perSecond: 1e6 }, second + 1, atMs);
      const honest = counted({ from: "mesh", perSecond: 7 }, second + 1, atMs);
      ingest.take(recordOf("n1", claims, { arrivedAtMs: atMs }), atMs);
      ingest.take(recordOf("n2", [...honest, seen(second, atMs)], { arrivedAtMs: atMs }), atMs);
    }
    const [east, west] = demandOf()[0]!.zones;
    expect(east!.requestsPerSecond).toBeCloseTo(7, 6);
    expect(west!.requestsPerSecond).toBeCloseTo(4, 6);
  });

  test("of another namespace that nobody at its own end saw isn't there", () => {
    run({ n1: [{ from: "tenant", perSecond: 100 }] });
    expect(demandOf()).toEqual([]);
  });

  test("leaves out hosts that are no Services, unknown nodes, and what waypoints and servers count", () => {
    const labels = istio("destination", "web", "db", {
      destination_service_name: "db",
      destination_service_namespace: "shop",
      le: "+Inf",
    });
    run({
      n1: [
        { service: "api.example.com", perSecond: 1 },
        { service: "PassthroughCluster", perSecond: 1 },
        { namespace: "unknown", perSecond: 1 },
      ],
      elsewhere: [{ perSecond: 1 }],
    });
    ingest.take(recordOf("n1", [counter(LATENCY_BUCKETS, labels, NOW, 5)], { arrivedAtMs: NOW }), NOW);
    expect(demandOf()).toEqual([]);
    expect(ingest.counts.unused.unknown_node).toBeGreaterThan(0);
    expect(ingest.counts.ignored).toBe(1);
  });

  test("is bounded, and forgotten a window after the last word", () => {
    const many = Array.from({ length: LIMITS.maxChannels + 5 }, (_, i) => ({
      service: `s${i}`,
      perSecond: 1,
    }));
    run({ n1: many });
    expect(demandOf()).toHaveLength(LIMITS.maxChannels);
    expect(ingest.counts.unused.too_many_channels).toBeGreaterThan(0);
    tables.expire(NOW + 20_000 + SHAPE.windowMs + SHAPE.paneMs, () => false);
    expect(tables.demand.size).toBe(0);
  });
});
