// Coordinates and bandwidth from the bus to the graph API, in a whole aggregator with its worker thread.
import { systemClock } from "@isochrone/runtime";
import { TOPICS, type Metric } from "@isochrone/telemetry";
import { ClusterGraph, ClusterGraphSchema, type ClusterGraphSnapshot } from "@isochrone/topology";
import { Value } from "typebox/value";
import { afterEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject } from "../testing/cluster.ts";
import { bandwidthTest, counter, probeMetrics, recordOf } from "../testing/records.ts";

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Nodes on a line, 10 ms apart. Each measures some of the others. */
const NODES = 16;
const name = (index: number): string => `n${String(index).padStart(2, "0")}`;
const truthMs = (a: number, b: number): number => 10 * Math.abs(a - b) + 2;
const measures = (a: number, b: number): boolean => [1, 3, 5, 8, 11, 14].includes((b - a + NODES) % NODES);

async function started(): Promise<RunningAggregator> {
  const running = await startAggregator({ settings: { probeFullMeshLimit: 2 } });
  cleanups.push(() => running.stop());
  await fill(
    running.store,
    Array.from({ length: NODES }, (_, index) => nodeObject(name(index), "z1")),
  );
  return running;
}

let sequence = 0;

async function publish({ bus, clock }: RunningAggregator, topic: string, node: string, metrics: Metric[]) {
  const { key, value, headers } = recordOf(node, metrics, {
    sequence: ++sequence,
    epoch: `e${node}${topic}${sequence}`,
    arrivedAtMs: clock.now(),
  });
  await bus.publish(topic, [{ key, value, headers }]);
}

async function probe(running: RunningAggregator): Promise<void> {
  const timeMs = running.clock.now();
  for (let source = 0; source < NODES; source++) {
    const targets = Array.from({ length: NODES }, (_, target) => target).filter((at) => measures(source, at));
    const samples = targets.map((target) => ({
      target: name(target),
      timeMs,
      rttsMs: Array.from({ length: 5 }, () => truthMs(source, target)),
      outcomes: { sent: 5, received: 5 },
    }));
    await publish(running, TOPICS.probe, name(source), probeMetrics(samples));
  }
  await running.clock.advance(1000);
}

async function read({ aggregator }: RunningAggregator, query = ""): Promise<ClusterGraphSnapshot> {
  const { statusCode, body } = await aggregator.app.inject({ url: `/api/v1/graph/cluster${query}` });
  const graph = JSON.parse(body) as ClusterGraphSnapshot;
  expect(statusCode).toBe(200);
  expect(Value.Check(ClusterGraphSchema, graph)).toBe(true);
  return graph;
}

/** Polls until a graph has coordinates, because fitting takes real time. */
async function untilFitted(running: RunningAggregator): Promise<ClusterGraphSnapshot> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await systemClock.sleep(20)) {
    await running.clock.advance(1000);
    const graph = await read(running);
    if (graph.coordinates) return graph;
  }
  throw new Error(`no coordinates within 20 s; log: ${JSON.stringify(running.logger.lines)}`);
}

describe("network coordinates", () => {
  test("of the measured pairs estimate the others, on the nodes and for pairs that are asked for", async () => {
    const running = await started();
    await probe(running);
    const graph = await untilFitted(running);
    const measured = graph.links.length;
    expect(graph.links.every(({ origin }) => origin === "measured")).toBe(true);
    expect(graph.nodes.every(({ coordinate }) => coordinate !== null && coordinate.length >= 2)).toBe(true);
    expect(graph.coordinates).toMatchObject({ pairs: measured });

    const asked = [0, 1, 7, 11];
    const { nodes, links } = await read(running, `?nodes=${asked.map(name).join(",")}&include=estimated`);
    expect(nodes.map((node) => node.name)).toEqual(asked.map(name));
    const pairs = asked.flatMap((a) => asked.filter((b) => b !== a).map((b) => [a, b] as const));
    expect(links.map(({ source, target, origin }) => `${source} ${target} ${origin}`)).toEqual(
      pairs.map(([a, b]) => `${name(a)} ${name(b)} ${measures(a, b) ? "measured" : "estimated"}`),
    );
    const whole = new ClusterGraph(graph);
    for (const [a, b] of pairs.filter(([from, to]) => !measures(from, to) && !measures(to, from))) {
      const link = links.find(({ source, target }) => source === name(a) && target === name(b))!;
      expect(Math.abs(link.costMs! - truthMs(a, b))).toBeLessThan(truthMs(a, b) / 2);
      expect(link.errorMs).toBeGreaterThan(0);
      expect(link).toMatchObject({ rttMs: { p50: null, count: 0 }, ageSeconds: expect.any(Number) });
      // The published coordinates alone give a similar estimate.
      const cost = whole.cost(name(a), name(b));
      if (!cost.known) throw new Error(`${name(a)} to ${name(b)} is ${cost.reason}`);
      expect(cost.origin).toBe("estimated");
      expect(Math.abs(cost.ms - truthMs(a, b))).toBeLessThan(truthMs(a, b) / 2);
    }
    expect(pairs.some(([a, b]) => !measures(a, b) && !measures(b, a))).toBe(true);
  }, 40_000);

  test("that get no new samples go out of use after three windows", async () => {
    const running = await started();
    await probe(running);
    await untilFitted(running);
    await running.clock.advance(60_000);
    expect((await read(running)).coordinates).toMatchObject({ ageSeconds: expect.any(Number) });
    await running.clock.advance(35_000);
    const graph = await read(running);
    expect(graph.coordinates).toBeNull();
    expect(graph.nodes.every(({ coordinate }) => coordinate === null)).toBe(true);
    const { links } = await read(running, "?nodes=n00,n02,n08&include=estimated");
    expect(links.filter(({ origin }) => origin === "estimated")).toEqual([]);
    const { body } = await running.aggregator.app.inject({ url: "/metrics" });
    expect(body).toMatch(/^isochrone_aggregator_coordinate_fits_total\{result="ok"\} [1-9]/m);
  }, 40_000);

  test("are asked for between a bounded number of nodes", async () => {
    const running = await started();
    const many = Array.from({ length: 101 }, (_, index) => `m${index}`);
    await fill(
      running.store,
      many.map((each) => nodeObject(each, "z1")),
    );
    await running.clock.advance(1000);
    const { statusCode, body } = await running.aggregator.app.inject({
      url: `/api/v1/graph/cluster?nodes=${many.join(",")}&include=estimated`,
    });
    expect([statusCode, JSON.parse(body)]).toMatchObject([
      400,
      { code: "bad_query", detail: "include=estimated takes at most 100 nodes, got 101" },
    ]);
  });
});

describe("bandwidth", () => {
  test("comes with its capacity, what was achieved and what is left, through the bus and the node objects", async () => {
    const running = await started();
    const resource = "network.aware.com/bandwidth";
    await fill(running.store, [
      nodeObject("a", "z1", { [resource]: "1000000000" }),
      nodeObject("b", "z1", { [resource]: "10G" }),
    ]);
    const rows = { id: "/", interface: "eth0" };
    for (const bytes of [0, 12_500_000]) {
      const timeMs = running.clock.now();
      for (const node of ["a", "b"])
        await publish(running, TOPICS.usage, node, [
          counter("container_network_receive_bytes_total", rows, timeMs, bytes),
          counter("container_network_transmit_bytes_total", rows, timeMs, 2 * bytes),
        ]);
      await publish(running, TOPICS.probe, "a", [bandwidthTest("b", "tcp", timeMs, 9e8)]);
      await running.clock.advance(1000);
    }
    const graph = await read(running, "?nodes=a,b");
    expect(graph.nodes[0]).toMatchObject({
      networkCapacityBitsPerSecond: 1e9,
      networkReceiveBitsPerSecond: 1e8,
      networkTransmitBitsPerSecond: 2e8,
    });
    expect(
      graph.links.map(({ source, origin, bandwidthCapacityOrigin, bandwidthBitsPerSecond }) => [
        source,
        origin,
        bandwidthCapacityOrigin,
        bandwidthBitsPerSecond,
      ]),
    ).toEqual([
      ["a", "measured", "declared", { capacity: 1e9, achieved: 9e8, available: 8e8 }],
      ["b", "declared", "declared", { capacity: 1e9, achieved: null, available: 9e8 }],
    ]);
  });
});
