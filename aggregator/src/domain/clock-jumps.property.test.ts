import { assert, constantFrom, double, integer, property, record } from "fast-check";
import type { Metric } from "@isochrone/telemetry";
import { expect, test } from "vitest";
import { clusterState, nodeState } from "../testing/cluster.ts";
import { bandwidthTest, counter, gauge, istio, probeMetrics, recordOf } from "../testing/records.ts";
import { EventHistory } from "./graphs/event-history.ts";
import { GraphHistory, HISTORY_GAP_MS } from "./graphs/graph-history.ts";
import { GraphKeeper } from "./graphs/graph-keeper.ts";
import { Tables } from "./graphs/tables.ts";
import { Ingest } from "./ingest/ingest.ts";

const SHAPE = { windowMs: 60_000, paneMs: 2_000, panes: 30, fastPanes: 5 };
const LIMITS = { maxLinks: 10, maxChannels: 10, maxPods: 10 };
const OPTIONS = { maxFutureMs: 2_000, maxSeries: 1_000, maxSources: 10 };
const START_MS = 1_700_000_000_000;
const STEP_MS = 2_000;
const YEAR_MS = 365 * 86_400_000;
const CLUSTER = clusterState({ nodes: [nodeState("a"), nodeState("b")] });

/** Clocks that jump: the aggregator's, the source's, or both on one machine. */
const CLOCKS = ["aggregator", "source", "both"] as const;

interface Jump {
  readonly clock: (typeof CLOCKS)[number];
  /** True: without a sequence, so the source's clock is trusted. */
  readonly isForeign: boolean;
  readonly stepMs: number;
  /** Time after the start of a step, within the first window. */
  readonly afterMs: number;
}

class World {
  readonly tables = new Tables(SHAPE, LIMITS);
  readonly #ingest: Ingest;
  readonly #keeper = new GraphKeeper(
    this.tables,
    { methods: ["udp_rr", "tcp_rr"], quantile: "p50" },
    new EventHistory("e", 10),
  );
  readonly #history = new GraphHistory({ horizonMs: 3_600_000, minGapMs: HISTORY_GAP_MS, maxBytes: 1e8 });
  readonly #jump: Jump | null;
  #sequence = 0;

  constructor(jump: Jump | null) {
    this.#jump = jump;
    this.#ingest = new Ingest(this.tables, OPTIONS);
  }

  step(sinceMs: number): void {
    const [sentAtMs, nowMs] = [this.#timeOf("source", sinceMs), this.#timeOf("aggregator", sinceMs)];
    const identity = this.#jump?.isForeign === true ? {} : { sequence: ++this.#sequence, sentAtMs };
    const metrics = this.#metrics(sinceMs, sentAtMs);
    this.#ingest.take(recordOf("a", metrics, { ...identity, arrivedAtMs: nowMs }), nowMs);
    this.#history.keep(this.#keeper.build(CLUSTER, nowMs, () => false));
  }

  figures(sinceMs: number): Record<string, number | null | undefined> {
    const nowMs = this.#timeOf("aggregator", sinceMs);
    const kept = this.#history.times().map((at) => Date.parse(at));
    const pod = this.tables.pods.get("shop/web-1");
    return {
      ...this.#network(nowMs),
      cpu: pod?.cpu(nowMs, "full"),
      fastCpu: pod?.cpu(nowMs, "fast"),
      memory: pod?.memory(nowMs, "full"),
      series: this.#ingest.series,
      historyAgeMs: nowMs - kept.at(-1)!,
      keptAhead: kept.filter((at) => at > nowMs).length,
    };
  }

  #network(nowMs: number): Record<string, number | null | undefined> {
    const [link] = this.#keeper.newest!.cluster("full").links;
    const [channel] = this.tables.channels.values();
    return {
      requests: channel?.rates(nowMs, "full")?.requestsPerSecond,
      rttMs: link?.rttMs.p50,
      loss: link?.lossRatio,
      bandwidth: this.tables.bandwidth.get("a", "b")?.achieved(nowMs)?.bitsPerSecond,
    };
  }

  #timeOf(clock: "aggregator" | "source", sinceMs: number): number {
    const jump = this.#jump;
    const hasJumped =
      jump !== null && sinceMs >= SHAPE.windowMs + jump.afterMs && [clock, "both"].includes(jump.clock);
    return START_MS + sinceMs + (hasJumped ? jump.stepMs : 0);
  }

  #metrics(sinceMs: number, timeMs: number): Metric[] {
    const labels = { namespace: "shop", pod: "web-1", container: "web" };
    return [
      ...probeMetrics([{ target: "b", timeMs, rttsMs: [10], outcomes: { sent: 4, received: 3, lost: 1 } }]),
      counter("container_cpu_usage_seconds_total", labels, timeMs, 100 + (0.5 * sinceMs) / 1_000),
      gauge("container_memory_working_set_bytes", labels, timeMs, 5e6),
      counter("istio_requests_total", istio("source", "web", "db"), timeMs, (10 * sinceMs) / 1_000),
      bandwidthTest("b", "tcp", timeMs, 1e6 + Math.floor(sinceMs / 1_000)),
    ];
  }
}

/** Excludes a jump of one foreign clock: no observer can tell which clock is right. */
const jumps = record({
  clock: constantFrom(...CLOCKS),
  isForeign: constantFrom(false, true),
  stepMs: double({ min: 3, max: Math.log10(10 * YEAR_MS), noNaN: true }).chain((log) =>
    constantFrom(Math.round(10 ** log), -Math.round(10 ** log)),
  ),
  afterMs: integer({ min: 0, max: SHAPE.windowMs }),
}).filter(({ clock, isForeign }) => !(clock !== "both" && isForeign));

test("within a window after a jump of a clock all figures are those of clocks that never jumped", () => {
  assert(
    property(jumps, (jump) => {
      const [world, steady] = [new World(jump), new World({ ...jump, stepMs: 0 })];
      // A step within the maximum delay shows in eight records of its source.
      const endMs = 3 * SHAPE.windowMs + 8 * STEP_MS + 3 * SHAPE.paneMs;
      for (let sinceMs = 0; sinceMs <= endMs; sinceMs += STEP_MS)
        for (const each of [world, steady]) each.step(sinceMs);
      const [got, expected] = [world.figures(endMs), steady.figures(endMs)];
      const wrong = Object.entries(expected).filter(
        ([name, value]) =>
          typeof value === "number" &&
          name !== "historyAgeMs" &&
          !(Math.abs((got[name] ?? Number.NaN) - value) <= 0.05 * Math.abs(value)),
      );
      expect(wrong.map(([name, value]) => `${name}: ${got[name]} for ${value}`)).toEqual([]);
      expect(got["historyAgeMs"]).toBeLessThanOrEqual(HISTORY_GAP_MS + STEP_MS);
      expect(expected["cpu"]).toBeCloseTo(0.5);
      expect(expected["requests"]).toBeCloseTo(10);
      expect(expected["loss"]).toBeCloseTo(0.25);
    }),
    { numRuns: 60 },
  );
});
