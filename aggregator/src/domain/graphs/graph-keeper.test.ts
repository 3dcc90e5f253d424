import { beforeEach, describe, expect, test } from "vitest";
import { EventHistory } from "./event-history.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "./tables.ts";
import { GraphKeeper } from "./graph-keeper.ts";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { probeMetrics, recordOf } from "../../testing/records.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const RULE = { methods: ["udp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;
const LINKS = 1700;

let tables: Tables;
let ingest: Ingest;
let keeper: GraphKeeper;

beforeEach(() => {
  tables = new Tables(SHAPE, { maxLinks: 10_000, maxChannels: 10, maxPods: 10 });
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 100_000, maxSources: 10 });
  keeper = new GraphKeeper(tables, RULE, new EventHistory("test", 10));
  const samples = Array.from({ length: LINKS }, (_, index) => ({
    target: `n${index}`,
    timeMs: NOW,
    rttsMs: [1 + index / 100],
  }));
  ingest.take(recordOf("a", probeMetrics(samples), { arrivedAtMs: NOW }), NOW);
});

const cluster = clusterState({ nodes: [nodeState("a")] });
const inputs = { cluster, nowMs: NOW + 1000, isWanted: () => true, coordinates: null };

describe("a build in turns", () => {
  test("asks at least every 500 links, waits as long as it is told, and shows nothing of the version before its end", async () => {
    let asked = 0;
    let waited = 0;
    const pace = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      waited++;
    };
    const graphs = await keeper.buildInTurns(inputs, () => {
      expect(keeper.newest).toBeNull();
      return ++asked % 2 === 0 ? pace() : null;
    });
    expect(asked).toBeGreaterThanOrEqual(LINKS / 500);
    expect(waited).toBe(Math.floor(asked / 2));
    expect(keeper.newest).toBe(graphs);
    expect(keeper.history.newest?.version).toBe(1);
  });

  test("gives the same graph as one at a stroke", async () => {
    const inTurns = (await keeper.buildInTurns(inputs, () => null)).cluster("full");
    const atOnce = keeper.build(cluster, inputs.nowMs, inputs.isWanted).cluster("full");
    expect(inTurns.links).toHaveLength(LINKS);
    expect(inTurns).toEqual({ ...atOnce, version: 1 });
  });

  test("takes no harm from what comes in meanwhile, which is in the next version at the latest", async () => {
    let rounds = 0;
    const graphs = await keeper.buildInTurns(inputs, () => {
      const atMs = inputs.nowMs + 100 * ++rounds;
      const sample = { target: `m${rounds}`, timeMs: atMs, rttsMs: [5] };
      ingest.take(recordOf("a", probeMetrics([sample]), { arrivedAtMs: atMs }), atMs);
      return null;
    });
    const { links } = graphs.cluster("full");
    const early = links.filter(({ target }) => target.startsWith("m")).map(({ target }) => target);
    expect(links.length - early.length).toBe(LINKS);
    expect(links.every(({ ageSeconds }) => ageSeconds! >= 0)).toBe(true);
    const next = await keeper.buildInTurns({ ...inputs, nowMs: inputs.nowMs + 2000 }, () => null);
    expect(next.cluster("full").links).toHaveLength(LINKS + rounds);
    const told = keeper.history.newest!.changed.links.map(({ target }) => target);
    expect([...early, ...told].sort()).toEqual(
      Array.from({ length: rounds }, (_, index) => `m${index + 1}`).sort(),
    );
  });
});

describe("declared costs", () => {
  const declaredCosts = {
    source: "test",
    unitMs: 1,
    zones: [{ from: "z1", to: "z2", cost: 5 }],
    regions: [],
  };

  test("are in the graphs of both windows, of their version on", async () => {
    const before = await keeper.buildInTurns(inputs, () => null);
    const after = await keeper.buildInTurns({ ...inputs, declaredCosts }, () => null);
    for (const window of ["full", "fast"] as const) {
      expect(after.cluster(window)).toEqual({
        ...before.cluster(window),
        version: after.version,
        declaredCosts,
      });
      expect(before.cluster(window)).not.toHaveProperty("declaredCosts");
    }
  });
});
