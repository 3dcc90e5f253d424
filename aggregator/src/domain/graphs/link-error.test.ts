import { seededRandom } from "@isochrone/runtime";
import { Distribution } from "@isochrone/telemetry";
import type { Link } from "@isochrone/topology";
import { costInterval, fewestSamples } from "@isochrone/topology/link-errors";
import { describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { probeMetrics, recordOf } from "../../testing/records.ts";
import { Ingest } from "../ingest/ingest.ts";
import { buildClusterGraph } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import { Tables } from "./tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const METHODS = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"] as const;

/** Round trips of the window by `source>target method`. */
type Samples = Readonly<Record<string, readonly number[]>>;

/** Links by `source>target method`. The links are older than the window. */
function linksOf(samples: Samples, quantile: CostRule["quantile"] = "p50", nowMs = NOW): Map<string, Link> {
  const tables = new Tables(SHAPE, { maxLinks: 16, maxChannels: 1, maxPods: 1 }, METHODS);
  const ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 16 });
  let sequence = 0;
  const publish = (name: string, timeMs: number, rttsMs: readonly number[]): void => {
    const [source, target, method] = name.split(/[> ]/) as [string, string, string];
    const sent = { sent: rttsMs.length, received: rttsMs.length };
    const metrics = probeMetrics([{ target, method, timeMs, rttsMs, outcomes: sent }]);
    ingest.take(recordOf(source, metrics, { sequence: ++sequence, arrivedAtMs: timeMs }), timeMs);
  };
  for (const name of Object.keys(samples)) publish(name, NOW - SHAPE.windowMs - SHAPE.paneMs, []);
  for (let pane = 0; pane < 10; pane++)
    for (const [name, rttsMs] of Object.entries(samples))
      publish(
        name,
        NOW - (9 - pane) * SHAPE.paneMs,
        rttsMs.filter((_, index) => index % 10 === pane),
      );
  const nodes = ["a", "b", "c"].map((name) => nodeState(name));
  const rule = { methods: METHODS, quantile };
  const { links } = buildClusterGraph(tables, clusterState({ nodes }), rule, { version: 1, nowMs }, "full");
  return new Map(links.map((link) => [`${link.source}>${link.target} ${link.method}`, link]));
}

const about = (medianMs: number, count: number, spread = 0.1): number[] =>
  Array.from({ length: count }, (_, index) => medianMs * (1 + spread * ((((index * 7) % 11) - 5) / 5)));

const SEVEN = [36, 1.29, 40.1, 37.8, 39, 35.2, 44];

describe("an error", () => {
  test("reaches the truth from a median that the way back and TCP contradict", () => {
    const links = linksOf({
      "a>b udp_rr": SEVEN,
      "a>b tcp_rr": about(3.1, 30),
      "b>a udp_rr": about(2.6, 30),
      "b>a tcp_rr": about(3, 30),
    });
    const { costMs, errorMs } = links.get("a>b udp_rr")!;
    expect(costMs).toBeGreaterThan(37);
    expect(costMs! - errorMs!).toBeLessThan(3);
    // Seven samples do not contradict the others: their interval contains the others'.
    for (const name of ["a>b tcp_rr", "b>a udp_rr", "b>a tcp_rr"])
      expect(links.get(name)!.errorMs).toBeLessThan(1);
  });

  test("is the whole range of few round trips that nobody contradicts", () => {
    const { costMs, errorMs } = linksOf({ "a>b udp_rr": SEVEN }).get("a>b udp_rr")!;
    expect(costMs! - errorMs!).toBeLessThan(1.29);
    expect(costMs! + errorMs!).toBeGreaterThan(44);
  });

  test("of few round trips is as small as that of the pair's other links allows", () => {
    const few = { "a>b udp_rr": [2.5, 2.6, 2.4, 2.6, 2.7, 60, 55] };
    const alone = linksOf(few).get("a>b udp_rr")!;
    const together = linksOf({ ...few, "b>a udp_rr": about(2.6, 30, 0.05) }).get("a>b udp_rr")!;
    expect(alone.errorMs).toBeGreaterThan(50);
    expect(together.errorMs).toBeLessThan(0.5);
    expect(together.costMs).toBe(alone.costMs);
  });

  test("is the whole difference of two directions that both are sure of themselves", () => {
    const links = linksOf({ "a>b udp_rr": about(80, 30, 0.01), "b>a udp_rr": about(3, 30, 0.01) });
    for (const { errorMs } of links.values()) expect(errorMs).toBeGreaterThan(75);
  });

  test.each([0.1, 0.2, 0.3])("is in proportion where a method takes %d longer everywhere", (longer) => {
    for (const ms of [1, 3, 80]) {
      const links = linksOf({
        "a>b udp_rr": about(ms, 30, 0.02),
        "b>a udp_rr": about(ms, 30, 0.02),
        "a>b tcp_rr": about(ms * (1 + longer), 30, 0.02),
        "b>a tcp_rr": about(ms * (1 + longer), 30, 0.02),
      });
      const { errorMs } = links.get("a>b udp_rr")!;
      expect(errorMs).toBeGreaterThan(ms * longer * 0.9);
      expect(errorMs).toBeLessThan(ms * (longer + 0.05));
    }
  });

  test("of few round trips counts where they contradict others, and bounds no other's", () => {
    const few = [2, 2, 2, 2, 2];
    const sure = { "a>b udp_rr": about(80, 30, 0.01) };
    expect(linksOf({ ...sure, "b>a udp_rr": few }).get("a>b udp_rr")!.errorMs).toBeGreaterThan(75);
    const unsure = { "a>b udp_rr": [2, 2.1, 2, 1.9, 2, 60, 61] };
    expect(linksOf({ ...unsure, "b>a udp_rr": few }).get("a>b udp_rr")!.errorMs).toBeGreaterThan(50);
  });

  test("isn't made of handshakes that a proxy answers", () => {
    const pair = { "a>b udp_rr": about(80, 30, 0.01), "b>a udp_rr": about(80, 30, 0.01) };
    const { errorMs } = linksOf(pair).get("a>b udp_rr")!;
    const more = linksOf({ ...pair, "a>b tcp_connect": about(0.2, 30) });
    expect(more.get("a>b udp_rr")!.errorMs).toBe(errorMs);
    expect(more.get("a>b tcp_connect")!.errorMs).toBeGreaterThan(79);
  });

  test("doubles within a window without answers, and other pairs have their own", () => {
    const samples = { "a>b udp_rr": about(10, 200), "a>c udp_rr": about(300, 200) };
    const [young, old] = [NOW, NOW + 10_000].map((at) => linksOf(samples, "p50", at).get("a>b udp_rr")!);
    const share = old!.errorMs! / young!.errorMs!;
    expect(share).toBeGreaterThan(1.2);
    expect(share).toBeLessThan(1.5);
    expect(young!.errorMs).toBeLessThan(2);
  });

  test("is never 0: a bucket has a width", () => {
    const { errorMs } = linksOf({ "a>b udp_rr": Array.from({ length: 30 }, () => 10) }).get("a>b udp_rr")!;
    expect(errorMs).toBeGreaterThan(0.1);
    expect(errorMs).toBeLessThan(0.25);
  });
});

describe("a link that is older than the window", () => {
  test.each([
    ["p50", 6],
    ["mean", 6],
    ["p90", 29],
  ] as const)("is provisional by %s below %d samples", (quantile, fewest) => {
    expect(fewestSamples(quantile)).toBe(fewest);
    const provisional = (count: number): boolean =>
      linksOf({ "a>b udp_rr": about(10, count) }, quantile).get("a>b udp_rr")!.provisional;
    expect([provisional(fewest - 1), provisional(fewest)]).toEqual([true, false]);
  });
});

/** Round trips in seconds with a minimum and a skewed queueing delay. */
function samplesOf(random: { next(): number }, count: number): number[] {
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Array.from({ length: count }, () => 0.001 + 0.002 * Math.exp(0.8 * normal()));
}

test.each([
  ["p50", 6],
  ["p50", 7],
  ["p50", 30],
  ["p50", 300],
  ["p90", 29],
  ["p90", 60],
  ["p90", 300],
  ["mean", 30],
  ["mean", 300],
] as const)("the interval of %s by %d samples covers the truth in 95 of 100 cases", (quantile, count) => {
  const random = seededRandom(count);
  const truth = {
    p50: 0.003,
    p90: 0.001 + 0.002 * Math.exp(0.8 * 1.2816),
    mean: 0.001 + 0.002 * Math.exp(0.32),
  };
  let covered = 0;
  for (let draw = 0; draw < 1000; draw++) {
    const rtt = new Distribution();
    for (const seconds of samplesOf(random, count)) rtt.record(seconds);
    const { lowMs, highMs } = costInterval(rtt, quantile)!;
    if (lowMs <= truth[quantile] * 1000 && truth[quantile] * 1000 <= highMs) covered++;
  }
  expect(covered).toBeGreaterThanOrEqual(940);
});
