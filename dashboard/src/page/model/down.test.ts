import { clusterColumnsOf, type ClusterGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { cutsOf } from "../health/cuts.ts";
import { findingsOf, instrumentsOf } from "../health/health-model.ts";
import { cellWords } from "../network/matrix/matrix-words.ts";
import { clusterViewOf, costBetween } from "./cluster-view.ts";
import { CELL, gridOf, KIND_BITS } from "./grid.ts";
import { absentWorkloads, requestTime } from "./request-time.ts";
import { digestOf } from "./summary.ts";

const NAMES = ["a", "b", "c", "d"];
const SINCE = "2026-01-01T14:12:37.000Z";
const TEXT = `b is not ready since ${SINCE}; its pods started elsewhere`;

function viewWith(down: string | null, lossRatio: number) {
  const links = NAMES.flatMap((source) =>
    NAMES.filter((target) => target !== source).map((target) => {
      const isSick = source === down || target === down;
      const isCut = isSick && lossRatio === 1;
      return {
        source,
        target,
        method: "udp_rr",
        ipFamily: 4,
        rttMs: { p50: isCut ? null : isSick ? 500 : 1, p90: null, p99: null, mean: null, count: 9 },
        lossRatio: isSick ? lossRatio : 0,
        jitterMs: null,
        costMs: isCut ? null : isSick ? 500 : 1,
        errorMs: null,
        origin: "measured",
        provisional: false,
        ageSeconds: isSick ? 1_000 : 1,
      };
    }),
  );
  const nodes = NAMES.map((name, index) => ({
    name,
    zone: null,
    region: null,
    ready: name !== down,
    coordinate: [index, 0, 1],
    usageAgeSeconds: 1,
    ...(name === down
      ? { down: { cause: "not_ready", since: SINCE, pods: 2, podsNotRunning: 0, text: TEXT } }
      : {}),
  }));
  const graph = {
    version: 1,
    observedAt: "2026-01-01T14:13:00Z",
    windowSeconds: 30,
    coordinates: { observedAt: "2026-01-01T14:13:00Z" },
    nodes,
    links,
  };
  return clusterViewOf(clusterColumnsOf(graph as unknown as ClusterGraphSnapshot));
}

const health = {
  ready: true,
  reasons: [],
  version: 1,
  graphAgeSeconds: 1,
  buildFailures: 0,
  intake: { missing: 0, publisherDropped: 0, deadLetters: 0 },
  replicas: { replica: null, isLeader: null, lag: [] },
  clocks: [],
} as unknown as Parameters<typeof findingsOf>[0];

test.each([
  ["whose packets are all lost", 1],
  ["of which old figures are kept", 0.4],
])("a node that is down, %s, is one finding, and its pairs are in no figure", (_what, lossRatio) => {
  const view = viewWith("b", lossRatio);
  const { summary, worst } = digestOf(view);
  expect(summary).toMatchObject({ dead: 0, lossy: 0, stale: 0, worstMs: 1, coverage: 1 });
  expect(worst.flatMap(({ source, target }) => [source, target])).not.toContain("b");
  const instruments = instrumentsOf(view);
  expect(instruments.map(({ node, peers, answering, words }) => [node, peers, answering, words])).toEqual([
    ["b", 0, 0, "not ready"],
    ...["a", "c", "d"].map((name) => [name, 2, 2, "well"]),
  ]);
  const findings = findingsOf(health, instruments, view.windowSeconds, cutsOf(view));
  expect(findings.map(({ level, title }) => [level, title.replace(/since .*;/, "since T;")])).toEqual([
    ["bad", "b is not ready since T; its pods started elsewhere"],
  ]);
  for (const quantity of ["p50", "loss", "age"] as const) {
    const grid = gridOf(view, quantity, "nodes");
    for (const [row, column] of [
      [0, 1],
      [1, 2],
    ] as const) {
      expect(grid.cells[row * grid.size + column]! & KIND_BITS).toBe(CELL.nothing);
      const words = cellWords({ row, column }, grid, view)?.lines.join();
      expect(words).toMatch(/^b is not ready since [\d :-]+; its pods started elsewhere/);
    }
  }
});

test("network time is unknown while a workload that takes part has no pod on a node that is up", () => {
  const costs = costBetween(viewWith("b", 1));
  const workflow = (...nodes: readonly (readonly (string | null)[])[]) =>
    ({
      workloads: nodes.map((of, index) => ({
        name: `w${index}`,
        pods: of.map((node, replica) => ({ name: `w${index}-${replica}`, node })),
      })),
      channels: [
        { source: "w0", target: "w1", requestsPerSecond: 5, bytesPerSecond: 1 },
        { source: "w1", target: "w2", requestsPerSecond: 5, bytesPerSecond: 1 },
      ],
    }) as unknown as Parameters<typeof requestTime>[0];
  expect(requestTime(workflow(["a"], ["c"], ["c"]), costs)).toMatchObject({ chainMs: 1 });
  for (const [gone, placed] of [
    [["w0"], workflow([null], ["c"], ["c"])],
    [["w0"], workflow([], ["c"], ["c"])],
    [["w0"], workflow(["b"], ["c"], ["c"])],
    [["w1", "w2"], workflow(["a"], ["b"], ["b"])],
  ] as const) {
    expect(absentWorkloads(placed, costs)).toEqual(gone);
    expect(requestTime(placed, costs)).toBeNull();
  }
  expect(requestTime(workflow(["a"], ["b", "c"], ["c"]), costs)).toMatchObject({ chainMs: 1 });
});
