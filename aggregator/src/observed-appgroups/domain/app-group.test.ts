import type { Channel, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { observedWorkloads, recordDemand, workloadsText, type GroupWorkload } from "./app-group.ts";
import { DemandHistory } from "./demand.ts";
import { stickyNeed } from "./sticky-need.ts";

const HOUR_MS = 3_600_000;

const workload = (name: string, pods = 1, more: Partial<Workload> = {}): Workload => ({
  name,
  kind: "Deployment",
  namespace: "shop",
  cpuMillicores: null,
  memoryBytes: null,
  pods: Array.from({ length: pods }, (_, index) => ({ name: `${name}-${index}`, node: "n1" })),
  ...more,
});

const channel = (
  source: string,
  target: string,
  bytesPerSecond: number | null,
  more: Partial<Channel> = {},
) => ({
  source,
  target,
  bytesPerSecond,
  requestsPerSecond: 1,
  errorRatio: null,
  priority: null,
  maxNetworkCost: null,
  minBandwidthBitsPerSecond: null,
  origin: "observed" as const,
  ageSeconds: 1,
  ...more,
});

const graphOf = (workloads: Workload[], channels: Channel[]): WorkflowGraphSnapshot => ({
  version: 1,
  observedAt: "2026-01-01T00:00:00.000Z",
  namespace: "shop",
  name: "orders",
  workloads,
  channels,
});

/** Result after these graphs, one per minute; each result is written before the next. */
function drawn(
  graphs: WorkflowGraphSnapshot[],
  more: { isYoung?: boolean; written?: GroupWorkload[]; isMember?: (name: string) => boolean } = {},
): GroupWorkload[] {
  const history = new DemandHistory(HOUR_MS, 0.9);
  let nowMs = 0;
  let { written = [] } = more;
  const common = {
    isMember: more.isMember ?? (() => true),
    selectorOf: ({ name }: Workload) => name,
    history,
    rule: { marginRatio: 0.25, isYoung: more.isYoung ?? false },
    holdMs: HOUR_MS,
    defaultMaxNetworkCost: 10_000,
  };
  for (const graph of graphs) {
    nowMs += 60_000;
    recordDemand({ ...common, graph, nowMs });
    written = observedWorkloads({ ...common, graph, nowMs, written });
    history.expire(nowMs);
  }
  return written;
}

const needs = (workloads: GroupWorkload[]) =>
  workloads.flatMap(({ name, dependencies }) =>
    dependencies.map((one) => [name, one.name, one.minBitsPerSecond, one.maxNetworkCost]),
  );

describe("an AppGroup from what was observed", () => {
  test("needs the p90 with a margin, in two digits, and is the same whatever order the graph has", () => {
    const rates = [1, 1, 1, 1, 1, 1, 1, 1, 100, 9000].map((kB) =>
      graphOf(
        [workload("web"), workload("db"), workload("cart")],
        [channel("web", "db", kB * 1000), channel("cart", "db", 1000)],
      ),
    );
    const workloads = drawn(rates);
    expect(workloads.map(({ name }) => name)).toEqual(["cart", "db", "web"]);
    expect(needs(workloads)).toEqual([
      ["cart", "db", 10_000, 10_000],
      ["web", "db", 1_000_000, 10_000],
    ]);
    const turned = rates.map((graph) => graphOf(graph.workloads.toReversed(), graph.channels.toReversed()));
    expect(workloadsText(drawn(turned))).toBe(workloadsText(workloads));
  });

  test("counts the need of one pair of pods, and no more than their own limits let through", () => {
    const three = workload("web", 3);
    expect(needs(drawn([graphOf([three, workload("db", 2)], [channel("web", "db", 600_000)])]))).toEqual([
      ["web", "db", 1_000_000, 10_000],
    ]);
    const limited = workload("db", 1, {
      pods: [{ name: "db-0", node: "n1", ingressLimitBitsPerSecond: 100_000 }],
    });
    expect(needs(drawn([graphOf([workload("web"), limited], [channel("web", "db", 600_000)])]))).toEqual([
      ["web", "db", 130_000, 10_000],
    ]);
  });

  test("takes what is declared as it is", () => {
    const declared = { maxNetworkCost: 15, minBandwidthBitsPerSecond: 123_456 };
    const graph = graphOf(
      [workload("web"), workload("db")],
      [
        channel("web", "db", 1e6, declared),
        channel("db", "web", null, { origin: "declared", requestsPerSecond: null }),
      ],
    );
    expect(needs(drawn([graph]))).toEqual([
      ["db", "web", null, 10_000],
      ["web", "db", 123_456, 15],
    ]);
  });

  test("leaves out what doesn't belong to the workflow, and a workload's talk with itself", () => {
    const far = workload("db", 1, { namespace: "far" });
    const graph = graphOf(
      [workload("web"), far, workload("guest"), workload("seen", 0)],
      [
        channel("web", "db", 1e6),
        channel("web", "web", 1e6),
        channel("web", "guest", 1e6),
        channel("guest", "web", 1e6),
      ],
    );
    const workloads = drawn([graph], { isMember: (name) => name !== "guest" });
    expect(workloads.map(({ name }) => name)).toEqual(["seen", "web"]);
    expect(needs(workloads)).toEqual([]);
  });

  test("keeps a dependency that rests, until the window is over", () => {
    const busy = graphOf([workload("web"), workload("db")], [channel("web", "db", 1e6)]);
    const idle = graphOf([workload("web"), workload("db")], []);
    const minutes = (count: number) => Array.from({ length: count }, () => idle);
    expect(needs(drawn([busy, ...minutes(60)]))).toEqual([["web", "db", 10_000_000, 10_000]]);
    expect(needs(drawn([busy, ...minutes(61)]))).toEqual([]);
  });

  test("takes nothing away from what is written while it knows little itself", () => {
    const written = drawn([graphOf([workload("web"), workload("db")], [channel("web", "db", 1e6)])]);
    const quiet = graphOf([workload("web"), workload("db")], []);
    const slower = graphOf([workload("web"), workload("db")], [channel("web", "db", 1e3)]);
    expect(needs(drawn([quiet], { isYoung: true, written }))).toEqual(needs(written));
    expect(needs(drawn([slower], { isYoung: true, written }))).toEqual(needs(written));
    expect(needs(drawn([slower], { written }))).toEqual([["web", "db", 10_000, 10_000]]);
    expect(needs(drawn([quiet], { written }))).toEqual([]);
  });
});

describe("a need that is written", () => {
  const rule = { marginRatio: 0.25, isYoung: false };

  test("stays while it covers what is observed and isn't far too much", () => {
    expect([1_250_000, 1_200_000, 700_000].map((bits) => stickyNeed(1_250_000, bits, rule))).toEqual([
      1_250_000, 1_250_000, 1_250_000,
    ]);
    expect(stickyNeed(1_250_000, 1_250_001, rule)).toBe(1_600_000);
    expect(stickyNeed(1_250_000, 500_000, rule)).toBe(630_000);
  });

  test("stays when nobody counts bytes any more, and goes when they are counted as none", () => {
    expect(stickyNeed(1_250_000, null, rule)).toBe(1_250_000);
    expect(stickyNeed(1_250_000, 0, rule)).toBe(null);
    expect(stickyNeed(null, null, rule)).toBe(null);
  });
});
