import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { probeMetrics, recordOf } from "../../testing/records.ts";
import { EventHistory } from "../graphs/event-history.ts";
import { GraphKeeper } from "../graphs/graph-keeper.ts";
import { Tables } from "../graphs/tables.ts";
import { Ingest } from "../ingest/ingest.ts";
import { PairUse } from "./pair-use.ts";

const START_MS = 1_700_000_000_000;
const SECOND_MS = 1_000;
const NODES = ["a", "b", "c", "d"];
interface LinkTruth {
  /** Seconds of packets that the responder answers after the timeout; 0: none. */
  readonly lateOfTen: number;
  readonly rttMs: number;
  /** One packet in this many is lost; 0: none, 1: all. */
  readonly lostOneIn: number;
}

/** Simulated probes: 120 packets per minute or window, whichever is shorter, between all nodes. */
class World {
  readonly tables: Tables;
  readonly keeper: GraphKeeper;
  readonly #ingest: Ingest;
  readonly #truths = new Map<string, LinkTruth>();
  readonly #packets: number;
  cluster = clusterState({ nodes: NODES.map((name) => nodeState(name)) });
  seconds = 0;

  constructor(windowMs: number) {
    const shape = { windowMs, paneMs: windowMs / 30, panes: 30, fastPanes: 3 };
    this.#packets = windowMs < 60_000 ? 2 : 1;
    this.tables = new Tables(shape, { maxLinks: 100, maxChannels: 10, maxPods: 10 });
    this.#ingest = new Ingest(this.tables, { maxFutureMs: 2_000, maxSeries: 1_000, maxSources: 10 });
    const rule = { methods: ["udp_rr"], quantile: "p50" } as const;
    this.keeper = new GraphKeeper(this.tables, rule, new EventHistory("e", 10));
  }

  set(pair: string, truth: Partial<LinkTruth>): void {
    this.#truths.set(pair, { rttMs: 1.3, lostOneIn: 0, lateOfTen: 0, ...truth });
  }

  run(seconds: number): void {
    for (const end = this.seconds + seconds; this.seconds < end;) {
      const timeMs = START_MS + ++this.seconds * SECOND_MS;
      for (const [index, source] of NODES.entries()) {
        const samples = NODES.filter((name) => name !== source).map((target) => {
          const { rttMs, lostOneIn, lateOfTen } = this.#truths.get([source, target].sort().join("")) ?? {
            rttMs: 1.3,
            lostOneIn: 0,
            lateOfTen: 0,
          };
          const isStarved = this.seconds % 10 < lateOfTen;
          // Late answers arrive two seconds after the starvation ends.
          const isCaughtUp = lateOfTen > 0 && this.seconds % 10 === lateOfTen + 1;
          const sent = this.#packets;
          const rttsMs: number[] = [];
          for (let packet = this.seconds * sent; packet < (this.seconds + 1) * sent; packet++)
            if (!isStarved && (lostOneIn === 0 || (packet + 7 * index) % lostOneIn !== 0)) rttsMs.push(rttMs);
          const late = isCaughtUp ? lateOfTen * sent : 0;
          const outcomes = { sent, received: rttsMs.length, lost: sent - rttsMs.length, late };
          return { target, timeMs, rttsMs, outcomes };
        });
        this.#ingest.take(recordOf(source, probeMetrics(samples), { arrivedAtMs: timeMs }), timeMs);
      }
      this.keeper.build(this.cluster, timeMs, () => true);
    }
  }

  lossRatios(a: string, b: string): (number | null)[] {
    const links = this.keeper.newest?.cluster("full").links ?? [];
    return links
      .filter(({ source, target }) => [source, target].sort().join() === [a, b].sort().join())
      .map(({ lossRatio }) => lossRatio);
  }

  names(): string[] {
    return this.keeper.departures.pairs.map(({ source, target, kind }) => `${source}${target} ${kind}`);
  }
}

describe.each([30_000, 300_000])("pairs of nodes in a window of %i ms", (windowMs) => {
  let world: World;
  beforeEach(() => {
    world = new World(windowMs);
    world.run(150);
    if (world.names().length > 0) throw new Error(`departed before the test: ${world.names().join(", ")}`);
  });

  test("a slow pair is named within a minute, with its time and what was before, until it is healed", () => {
    const changedMs = START_MS + world.seconds * SECOND_MS;
    world.set("bc", { rttMs: 60 });
    world.run(50);
    expect(world.names()).toEqual(["bc latency"]);
    const [found] = world.keeper.departures.pairs;
    expect(found!.now).toBeCloseTo(60, -1);
    expect(found!.before).toBeCloseTo(1.3, 1);
    expect(found!.workloads).toEqual([]);
    expect(Math.abs(Date.parse(found!.since) - changedMs)).toBeLessThanOrEqual(windowMs / 30 + SECOND_MS);
    world.set("bc", {});
    world.run(90);
    expect(world.names()).toEqual([]);
  });

  test("a cut is no departure, and neither are its losses once it has healed", () => {
    world.set("ab", { lostOneIn: 1 });
    for (let second = 0; second < 60; second++) {
      world.run(1);
      expect(world.names()).toEqual([]);
    }
    world.set("ab", {});
    for (let second = 0; second < 60; second++) {
      world.run(1);
      expect(world.names()).toEqual([]);
    }
  });

  test("load on all machines is one line", () => {
    for (const pair of ["ab", "ac", "ad", "bc", "bd", "cd"]) world.set(pair, { rttMs: 9 });
    world.run(60);
    const { common, counts } = world.keeper.departures;
    expect(world.names()).toEqual([]);
    expect(common).toMatchObject([{ kind: "latency", pairs: 6, all: 6 }]);
    expect(counts).toEqual({ latency: 6, loss: 0 });
  });
});

test("a starved responder that answers late loses nothing, is not cut and departs from nothing", () => {
  const world = new World(30_000);
  world.run(150);
  world.set("ac", { lateOfTen: 4 });
  const ratios: (number | null)[] = [];
  for (let second = 0; second < 240; second++) {
    world.run(1);
    expect(world.names()).toEqual([]);
    // Losses are counted before the late answers revoke them.
    if (second > 30 && world.seconds % 10 > 5) ratios.push(...world.lossRatios("a", "c"));
  }
  expect(ratios.length).toBeGreaterThan(50);
  expect(Math.max(...ratios.map((ratio) => ratio ?? Number.NaN))).toBe(0);
});

test("a pair whose answers all come after the timeout is cut", () => {
  const world = new World(30_000);
  world.run(150);
  world.set("ac", { lateOfTen: 10 });
  world.run(40);
  expect(world.lossRatios("a", "c")).toEqual([1, 1]);
});

test("pairs of a node that is down are not named", () => {
  const world = new World(30_000);
  world.run(150);
  world.set("ad", { lostOneIn: 5 });
  world.run(60);
  expect(world.names()).toEqual(["ad loss"]);
  world.cluster = clusterState({ nodes: NODES.map((name) => nodeState(name, { ready: name !== "d" })) });
  world.run(1);
  expect(world.names()).toEqual([]);
  expect(world.keeper.departures.counts).toEqual({ latency: 0, loss: 0 });
});

test("channels with traffic between the pods of a pair are named, the busiest first", () => {
  const workload = (name: string, ...nodes: (string | null)[]) => ({
    name,
    namespace: "shop",
    pods: nodes.map((node) => ({ name, node })),
  });
  const channel = (source: string, target: string, bytesPerSecond: number | null, requestsPerSecond = 0) => ({
    source,
    target,
    bytesPerSecond,
    requestsPerSecond,
  });
  const use = new PairUse([
    {
      namespace: "shop",
      workloads: [
        workload("web", "a"),
        workload("db", "b", "c"),
        workload("log", "b"),
        workload("new", null),
      ],
      channels: [
        channel("web", "db", 100),
        channel("log", "web", 80),
        channel("web", "log", null, 4),
        channel("web", "new", 1e9),
        channel("log", "db", 0),
      ],
    } as unknown as WorkflowGraphSnapshot,
  ]);
  expect(use.busiest({ source: "a", target: "b" })).toEqual([
    "shop/log -> shop/web",
    "shop/web -> shop/db",
    "shop/web -> shop/log",
  ]);
  expect(use.busiest({ source: "a", target: "c" })).toEqual(["shop/web -> shop/db"]);
  expect(use.busiest({ source: "b", target: "c" })).toEqual([]);
});

test("a pair that loses 5 % is named, and does not flap, in the embedded cluster", () => {
  const world = new World(30_000);
  world.run(150);
  world.set("ad", { lostOneIn: 19 });
  world.run(75);
  expect(world.names()).toEqual(["ad loss"]);
  expect(world.keeper.departures.pairs[0]!.now).toBeCloseTo(0.05, 1);
  for (let minute = 0; minute < 5; minute++) {
    world.run(60);
    expect(world.names()).toEqual(["ad loss"]);
  }
  world.set("ad", {});
  world.run(150);
  expect(world.names()).toEqual([]);
});
