import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { GraphClient } from "@isochrone/topology/client";
import { expect, test } from "vitest";
import { GraphApiSource } from "./graph-api-source.ts";

const AT = "2026-01-01T00:00:00.000Z";
const BANDWIDTH = { capacity: null, achieved: null, available: null };

function node(name: string) {
  return {
    name,
    zone: null,
    region: null,
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 4000,
    allocatableMemoryBytes: 8e9,
    availableCpuMillicores: 2000,
    availableMemoryBytes: 4e9,
    coordinate: null,
    usageAgeSeconds: 1,
  };
}

function link(source: string, target: string, lossRatio: number) {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: 3, p90: 3, p99: null, mean: 3, count: 30 },
    lossRatio,
    jitterMs: 0.1,
    bandwidthBitsPerSecond: BANDWIDTH,
    costMs: 3,
    errorMs: null,
    origin: "measured",
    provisional: false,
    ageSeconds: 1,
    observedAt: AT,
  };
}

test("one link with a loss ratio below 0 leaves the rest of the graph in use; it is counted and said once", async () => {
  const cluster = {
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes: [node("a"), node("b")],
    links: [link("a", "b", -0.2), link("b", "a", 0)],
  };
  const list = { version: 1, observedAt: AT, id: "e-1", workflows: [], graphs: [] };
  const clock = new ManualClock();
  const logger = new MemoryLogger({ clock });
  const dropped: string[] = [];
  const source = new GraphApiSource({
    client: new GraphClient({
      baseUrl: "http://graph",
      timeoutMs: 1000,
      fetch: (url) => Promise.resolve(Response.json(url.includes("cluster") ? cluster : list)),
    }),
    refreshMs: 1000,
    clock,
    logger,
    onFailure: (reason) => void dropped.push(`failed ${reason}`),
    onDropped: (kind, count) => void dropped.push(`${count} ${kind}`),
  });
  await source.refresh();
  await source.refresh();
  const graph = source.cluster()!;
  expect(graph.cost("b", "a")).toMatchObject({ ms: 3 });
  expect(source.clusterSnapshot()!.links).toHaveLength(1);
  expect(dropped).toEqual(["1 link", "1 link"]);
  expect(logger.lines.map(({ event }) => event)).toEqual([
    "parts of the graphs break their rules and are left out",
  ]);
});
