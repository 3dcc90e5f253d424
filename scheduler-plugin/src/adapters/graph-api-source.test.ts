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

test("prices are read where they are needed; without them graphs are used all the same", async () => {
  const cluster = { version: 1, observedAt: AT, windowSeconds: 30, nodes: [node("a")], links: [] };
  const list = { version: 1, observedAt: AT, id: "e-1", workflows: [], graphs: [] };
  const rows = {
    currency: "EUR",
    prices: [
      {
        provider: "own",
        scope: "zone-to-zone",
        from: "*",
        to: null,
        out: 0.1,
        in: 0,
        per: "GB",
        currency: "EUR",
        source: "test",
        date: "2026-01",
      },
    ],
  };
  for (const { withPrices, answer, currency, failures } of [
    { withPrices: true, answer: rows, currency: "EUR", failures: [] },
    { withPrices: true, answer: { currency: "EUR", prices: [] }, currency: undefined, failures: ["other"] },
    { withPrices: false, answer: rows, currency: undefined, failures: [] },
  ]) {
    const clock = new ManualClock();
    const failed: string[] = [];
    const source = new GraphApiSource({
      client: new GraphClient({
        baseUrl: "http://graph",
        timeoutMs: 1000,
        fetch: async (path) => {
          return Response.json(path.includes("prices") ? answer : path.includes("cluster") ? cluster : list);
        },
      }),
      refreshMs: 1000,
      clock,
      logger: new MemoryLogger({ clock }),
      withPrices,
      onFailure: (reason) => failed.push(reason),
    });
    await source.refresh();
    expect(source.cluster()?.nodes).toHaveLength(1);
    expect(source.prices()?.currency).toBe(currency);
    expect(failed).toEqual(failures);
  }
});

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
