import { gunzipSync } from "node:zlib";
import { TOPICS } from "@isochrone/telemetry";
import { ClusterColumnsSchema, type ClusterColumns, type ClusterGraphSnapshot } from "@isochrone/topology";
import { Value } from "typebox/value";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject } from "../testing/cluster.ts";
import { probeMetrics, recordOf } from "../testing/records.ts";

const PATH = "/api/v1/graph/cluster/columns";
let running: RunningAggregator;

beforeEach(async () => {
  running = await startAggregator();
  await fill(running.store, [nodeObject("a", "z1"), nodeObject("b", "z2"), nodeObject("c", "z2")]);
  const timeMs = running.clock.now();
  const targets = [
    { target: "b", timeMs, rttsMs: [1.234_567, 1.234_567] },
    { target: "c", timeMs, rttsMs: [40] },
    { target: "gone", timeMs, rttsMs: [5] },
  ];
  const { key, value, headers } = recordOf("a", probeMetrics(targets), { arrivedAtMs: timeMs });
  await running.bus.publish(TOPICS.probe, [{ key, value, headers }]);
  await running.clock.advance(2_000);
});
afterEach(() => running.stop());

describe("the cluster graph as columns", () => {
  test("says of each link between known nodes what the graph says, to the microsecond", async () => {
    const response = await running.aggregator.app.inject(PATH);
    const columns = response.json<ClusterColumns>();
    expect(Value.Check(ClusterColumnsSchema, columns)).toBe(true);
    const graph = (await running.aggregator.app.inject("/api/v1/graph/cluster")).json<ClusterGraphSnapshot>();
    expect(columns.nodes).toEqual(graph.nodes);
    expect([columns.version, columns.windowSeconds]).toEqual([graph.version, graph.windowSeconds]);
    const { links, nodes } = columns;
    const told = links.source.map((source, at) => ({
      source: nodes[source]!.name,
      target: nodes[links.target[at]!]!.name,
      method: links.methods[links.method[at]!],
      origin: links.origins[links.origin[at]!],
      p50: links.p50Ms[at],
      count: links.count[at],
    }));
    expect(told).toEqual([
      { source: "a", target: "b", method: "udp_rr", origin: "measured", p50: 1.235, count: 2 },
      { source: "a", target: "c", method: "udp_rr", origin: "measured", p50: 40, count: 1 },
    ]);
    const lengths = Object.entries(links).filter(([name]) => name !== "methods" && name !== "origins");
    expect(new Set(lengths.map(([, column]) => column.length))).toEqual(new Set([2]));
  });

  test("is compressed for who takes that, the same for all, and has an ETag", async () => {
    const { app } = running.aggregator;
    const plain = await app.inject(PATH);
    const gzipped = await app.inject({ url: PATH, headers: { "accept-encoding": "deflate, gzip, br" } });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect([gzipped.headers["content-encoding"], gzipped.headers["vary"]]).toEqual([
      "gzip",
      "accept-encoding",
    ]);
    expect(gunzipSync(gzipped.rawPayload).toString()).toBe(plain.payload);
    const again = await app.inject({
      url: PATH,
      headers: { "if-none-match": gzipped.headers.etag as string },
    });
    expect(again.statusCode).toBe(304);
  });

  test("is of the whole graph alone", async () => {
    for (const part of ["nodes=a", "limit=1", "include=estimated"]) {
      const response = await running.aggregator.app.inject(`${PATH}?${part}`);
      expect(response.statusCode).toBe(400);
    }
    const fast = await running.aggregator.app.inject(`${PATH}?window=fast`);
    expect(Value.Check(ClusterColumnsSchema, fast.json())).toBe(true);
  });
});
