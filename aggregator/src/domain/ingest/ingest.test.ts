import { encodeMetrics, type Metric, type Outcome } from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { counter, gauge, istio, probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import { Ingest, type IncomingRecord } from "./ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 4, maxChannels: 100, maxPods: 100 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 16 };
const RULE = { methods: ["udp_rr", "tcp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;

let tables: Tables;
let ingest: Ingest;
let refusals: string[];

beforeEach(() => {
  tables = new Tables(SHAPE, LIMITS);
  refusals = [];
  ingest = new Ingest(tables, OPTIONS, {
    onRefused: (source, reason) => refusals.push(`${source} ${reason}`),
  });
});

function links(nowMs: number, window: "full" | "fast" = "full") {
  const cluster = clusterState({ nodes: [nodeState("a"), nodeState("b")] });
  return buildClusterGraph(tables, cluster, RULE, { version: 1, nowMs }, window).links;
}

function probe(timeMs: number, target = "b", rttMs = 10): Metric[] {
  return probeMetrics([{ target, timeMs, rttsMs: [rttMs], outcomes: { sent: 1, received: 1 } }]);
}

describe("records that are not as they should be", () => {
  test("bytes that are no record are refused with the source's name, and the next record is taken", () => {
    const hostile: IncomingRecord = {
      key: "evil",
      value: new Uint8Array([255, 1, 2, 3]),
      headers: {},
      appendedAtMs: NOW,
    };
    ingest.take(hostile, NOW);
    ingest.take(recordOf("a", probe(NOW), { arrivedAtMs: NOW }), NOW);
    expect(refusals).toEqual(["evil malformed"]);
    expect(ingest.counts.refused.malformed).toBe(1);
    expect(links(NOW)).toHaveLength(1);
  });

  test("a record that is cut off anywhere never throws", () => {
    const whole = recordOf(
      "a",
      [...probe(NOW), counter("istio_requests_total", istio("source", "x", "y"), NOW, 1)],
      { arrivedAtMs: NOW },
    );
    for (let length = 0; length < whole.value.length; length++) {
      ingest.take({ ...whole, value: whole.value.subarray(0, length) }, NOW);
    }
    expect(ingest.counts.records).toBe(whole.value.length);
    expect(ingest.counts.refusedRecords).toBeGreaterThan(0);
  });

  test("headers that make no sense refuse the record", () => {
    ingest.take(
      recordOf("a", probe(NOW), {
        arrivedAtMs: NOW,
        headers: {
          "isochrone-source": "a",
          "isochrone-epoch": "e",
          "isochrone-sequence": "-5",
          "isochrone-sent-at": "1",
        },
      }),
      NOW,
    );
    expect(ingest.counts.refused.bad_headers).toBe(1);
    expect(links(NOW)).toHaveLength(0);
  });

  test("a point from the future is refused and leaves no trace", () => {
    ingest.take(recordOf("a", probe(NOW + 1001), { arrivedAtMs: NOW }), NOW);
    expect(ingest.counts.refused.future).toBeGreaterThan(0);
    expect(links(NOW)).toHaveLength(0);
  });

  test("a point older than the window is counted too late", () => {
    ingest.take(recordOf("a", probe(NOW - 31_000), { arrivedAtMs: NOW }), NOW);
    expect(ingest.counts.tooLate).toBeGreaterThan(0);
    expect(links(NOW)).toHaveLength(0);
  });

  test("a record that comes again counts once", () => {
    const record = recordOf("a", probe(NOW), { sequence: 7, arrivedAtMs: NOW });
    ingest.take(record, NOW);
    ingest.take(record, NOW + 500);
    expect(ingest.counts.duplicateRecords).toBe(1);
    expect(links(NOW)[0]!.rttMs.count).toBe(1);
  });

  test("points of a foreign record that comes again count once", () => {
    const record = recordOf("a", probe(NOW), { arrivedAtMs: NOW });
    ingest.take(record, NOW);
    ingest.take(record, NOW + 500);
    expect(ingest.counts.duplicatePoints).toBeGreaterThan(0);
    expect(links(NOW)[0]!.rttMs.count).toBe(1);
  });

  test("foreign deltas that come in another order count all", () => {
    for (const timeMs of [NOW, NOW - 4000, NOW - 2000])
      ingest.take(recordOf("a", probe(timeMs), { arrivedAtMs: NOW }), NOW);
    expect(links(NOW)[0]!.rttMs.count).toBe(3);
  });

  test("metrics that nobody knows are counted as unused, not refused", () => {
    ingest.take(recordOf("a", [gauge("temperature", { room: "1" }, NOW, 20)], { arrivedAtMs: NOW }), NOW);
    expect(ingest.counts.unused.unknown_metric).toBe(1);
    expect(refusals).toEqual([]);
  });

  test("links beyond the bound are counted and left out", () => {
    const metrics = ["b", "c", "d", "e", "f", "g"].flatMap((target) => probe(NOW, target));
    ingest.take(recordOf("a", metrics, { arrivedAtMs: NOW }), NOW);
    expect(tables.links.size).toBe(LIMITS.maxLinks);
    expect(ingest.counts.unused.too_many_links).toBeGreaterThan(0);
  });

  test("an empty histogram at an absurd place takes no memory and breaks nothing", () => {
    const data = {
      scale: 6,
      zeroCount: 0,
      offset: -2_000_000_000,
      bucketCounts: [0, 0],
      count: 0,
      sum: 0,
      min: 0,
      max: 0,
    };
    const attributes = { destination_node: "b", method: "udp_rr", ip_family: "4" };
    const value = encodeMetrics({
      resource: { "k8s.node.name": "a" },
      scope: { name: "x" },
      metrics: [
        {
          kind: "exponentialHistogram",
          name: "isochrone.probe.rtt",
          temporality: "delta",
          points: [{ attributes, timeMs: NOW, data }],
        },
      ],
    });
    ingest.take({ key: "a", value, headers: {}, appendedAtMs: NOW }, NOW);
    ingest.take(recordOf("a", probe(NOW + 1), { arrivedAtMs: NOW }), NOW);
    expect(links(NOW)[0]!.rttMs.count).toBe(1);
  });
});

describe("clocks of the sources", () => {
  test("a node whose clock is an hour ahead stays visible, and its skew is known", () => {
    const hour = 3_600_000;
    ingest.take(
      recordOf("a", probe(NOW + hour), { sequence: 1, sentAtMs: NOW + hour, arrivedAtMs: NOW + 20 }),
      NOW + 20,
    );
    expect(links(NOW + 20)[0]).toMatchObject({ rttMs: { count: 1 }, ageSeconds: 0 });
    expect([...ingest.clocks.entries()][0]).toMatchObject(["a", { offsetMs: 20 - hour }]);
  });

  test("a step of a source's clock backwards doesn't silence its counters", () => {
    const labels = istio("source", "web", "db");
    const sample = (sequence: number, trueMs: number, clockErrorMs: number, value: number): void => {
      const metrics = [counter("istio_requests_total", labels, trueMs + clockErrorMs, value)];
      ingest.take(
        recordOf("a", metrics, { sequence, sentAtMs: trueMs + clockErrorMs, arrivedAtMs: trueMs }),
        trueMs,
      );
    };
    sample(1, NOW, 600_000, 100);
    sample(2, NOW + 2000, 600_000, 120);
    sample(3, NOW + 4000, 0, 140);
    sample(4, NOW + 6000, 0, 160);
    // The step loses only the increment in which it happened.
    const [channel] = tables.channels.values();
    expect(channel!.rates(NOW + 6000, "full")!.requestsPerSecond).toBeCloseTo(40 / 6, 5);
  });

  test("the delay of the way differs from record to record without being taken for a restart of the counter", () => {
    const labels = istio("source", "web", "db");
    for (let i = 0; i <= 10; i++) {
      const timeMs = NOW + i * 1000;
      const metrics = [counter("istio_requests_total", labels, timeMs, 50 * i, NOW - 5000)];
      ingest.take(
        recordOf("a", metrics, { sequence: i, sentAtMs: timeMs, arrivedAtMs: timeMs + (i % 3) * 7 }),
        timeMs + 20,
      );
    }
    const [channel] = tables.channels.values();
    expect(channel!.rates(NOW + 10_000, "fast")!.requestsPerSecond).toBeCloseTo(50, 0);
  });

  test("records that were long on the way are not moved in time by that", () => {
    const labels = istio("source", "web", "db");
    const beganMs = Math.ceil(NOW / 2000) * 2000;
    // 50 requests per second, scraped every 2 s. The record of 16 s is 3 s late, and the next follows it.
    for (let i = 0; i <= 10; i++) {
      const timeMs = beganMs + i * 2000;
      const arrivedAtMs = i === 8 || i === 9 ? beganMs + 19_000 : timeMs;
      const metrics = [counter("istio_requests_total", labels, timeMs, 100 * i)];
      ingest.take(recordOf("a", metrics, { sequence: i, sentAtMs: timeMs, arrivedAtMs }), arrivedAtMs);
    }
    const [channel] = tables.channels.values();
    // The fast window holds 16 to 20 s. With their individual delays three increments of 100 would fall into
    // it, and give 75.
    expect(channel!.rates(beganMs + 20_000, "fast")!.requestsPerSecond).toBeCloseTo(50, 5);
  });
});

describe("records that never came", () => {
  test("a gap that no publisher explains is counted once it can't be filled any more", () => {
    for (const sequence of [0, 1, 3]) ingest.take(recordOf("a", [], { sequence, arrivedAtMs: NOW }), NOW);
    expect(ingest.missingRecords).toBe(0);
    ingest.take(recordOf("a", [], { sequence: 9000, arrivedAtMs: NOW }), NOW);
    expect(ingest.missingRecords).toBeGreaterThan(0);
  });

  test("a gap that its publisher reports as dropped is not counted as missing", () => {
    ingest.take(recordOf("a", [], { sequence: 0, arrivedAtMs: NOW }), NOW);
    ingest.take(
      recordOf("a", [], { sequence: 9000, arrivedAtMs: NOW, headers: { "isochrone-dropped": "8999" } }),
      NOW,
    );
    expect(ingest.missingRecords).toBe(0);
    expect(ingest.droppedRecords).toBe(8999);
  });
});

describe("links", () => {
  test("loss is the share of decided packets without those whose answer came late", () => {
    ingest.take(
      recordOf(
        "a",
        probeMetrics([
          {
            target: "b",
            timeMs: NOW,
            rttsMs: [1, 2, 3],
            outcomes: { sent: 6, received: 3, lost: 2, late: 1 },
            variationMs: [1, 3],
          },
        ]),
        { arrivedAtMs: NOW },
      ),
      NOW,
    );
    expect(links(NOW)[0]).toMatchObject({ lossRatio: 0.2, jitterMs: 2 });
  });

  test("a link that only loses packets has loss 1 and no round-trip time", () => {
    ingest.take(
      recordOf("a", probeMetrics([{ target: "b", timeMs: NOW, outcomes: { sent: 5, lost: 5 } }]), {
        arrivedAtMs: NOW,
      }),
      NOW,
    );
    expect(links(NOW)[0]).toMatchObject({
      lossRatio: 1,
      costMs: null,
      rttMs: { p50: null, mean: null, count: 0 },
    });
  });

  test("a link whose every send fails has loss 1, not no data", () => {
    ingest.take(
      recordOf("a", probeMetrics([{ target: "b", timeMs: NOW, outcomes: { sent: 0, send_error: 5 } }]), {
        arrivedAtMs: NOW,
      }),
      NOW,
    );
    expect(links(NOW)[0]).toMatchObject({ lossRatio: 1, costMs: null });
  });

  test("failed sends count among the lost, and leave the window with their pane", () => {
    const take = (at: number, outcomes: Readonly<Partial<Record<Outcome, number>>>): unknown =>
      ingest.take(
        recordOf("a", probeMetrics([{ target: "b", timeMs: at, rttsMs: [1], outcomes }]), {
          arrivedAtMs: at,
        }),
        at,
      );
    take(NOW, { sent: 3, received: 2, lost: 1, send_error: 2 });
    expect(links(NOW)[0]).toMatchObject({ lossRatio: 0.6 });
    take(NOW + 32_000, { sent: 4, received: 3, lost: 1 });
    expect(links(NOW + 32_000)[0]).toMatchObject({ lossRatio: 0.25 });
  });

  test("a pair's links come in the order of the cost's methods, the others behind", () => {
    tables = new Tables(SHAPE, { ...LIMITS, maxLinks: 6 }, ["tcp_rr", "udp_rr"]);
    ingest = new Ingest(tables, OPTIONS);
    for (const [source, target] of [
      ["b", "a"],
      ["a", "b"],
    ] as const)
      for (const method of ["icmp", "udp_rr", "tcp_rr"])
        ingest.take(
          recordOf(source, probeMetrics([{ target, method, timeMs: NOW, rttsMs: [1] }]), {
            arrivedAtMs: NOW,
          }),
          NOW,
        );
    expect(links(NOW).map(({ source, method }) => `${source} ${method}`)).toEqual([
      "a tcp_rr",
      "a udp_rr",
      "a icmp",
      "b tcp_rr",
      "b udp_rr",
      "b icmp",
    ]);
  });

  test("a link that was cut forgets its old round-trip times when they leave the window", () => {
    ingest.take(recordOf("a", probe(NOW), { arrivedAtMs: NOW }), NOW);
    for (let at = NOW + 2000; at <= NOW + 32_000; at += 2000) {
      ingest.take(
        recordOf("a", probeMetrics([{ target: "b", timeMs: at, outcomes: { sent: 1, lost: 1 } }]), {
          arrivedAtMs: at,
        }),
        at,
      );
    }
    expect(links(NOW + 32_000)[0]).toMatchObject({ lossRatio: 1, costMs: null, rttMs: { count: 0 } });
  });

  test("a silent link stays listed with nothing to show while it is wanted, and goes when it isn't", () => {
    ingest.take(recordOf("a", probe(NOW), { arrivedAtMs: NOW }), NOW);
    const later = NOW + 60_000;
    tables.expire(later, () => true);
    expect(links(later)[0]).toMatchObject({
      lossRatio: null,
      costMs: null,
      jitterMs: null,
      rttMs: { count: 0 },
      ageSeconds: 60,
    });
    tables.expire(later, () => false);
    expect(links(later)).toHaveLength(0);
  });

  test("a link that was dropped comes back with its next sample", () => {
    ingest.take(recordOf("a", probe(NOW), { arrivedAtMs: NOW }), NOW);
    tables.expire(NOW + 60_000, () => false);
    ingest.take(recordOf("a", probe(NOW + 61_000), { arrivedAtMs: NOW + 61_000 }), NOW + 61_000);
    expect(links(NOW + 61_000)[0]!.rttMs.count).toBe(1);
  });

  test("each method is a link of its own, and only those of the cost rule have a cost", () => {
    const metrics = ["icmp", "udp_rr"].flatMap((method) =>
      probeMetrics([{ target: "b", method, timeMs: NOW, rttsMs: [5] }]),
    );
    ingest.take(recordOf("a", metrics, { arrivedAtMs: NOW }), NOW);
    expect(links(NOW).map(({ method, costMs }) => [method, costMs === null])).toEqual([
      ["icmp", true],
      ["udp_rr", false],
    ]);
  });

  test("the running counts give what merging all panes gives, while panes come and go", () => {
    for (let i = 0; i < 60; i++) {
      const at = NOW + i * 1000;
      const rttsMs = Array.from({ length: 30 }, (_, k) => 1 + ((i * 37 + k * 11) % 400) / 7);
      ingest.take(
        recordOf("a", probeMetrics([{ target: "b", timeMs: at, rttsMs }]), { arrivedAtMs: at }),
        at,
      );
      // A window of one more pane than the fast one is merged on read, so compare panes that both cover.
      const [link] = tables.links.sorted();
      const merged = link!.read(at, SHAPE.panes - 1);
      const running = link!.read(at, SHAPE.panes);
      expect(running!.rtt!.count).toBeGreaterThanOrEqual(merged!.rtt!.count);
      expect(running!.rtt!.quantile(0.5)).toBeCloseTo(quantile(at, i), 2);
    }
  });
});

/** Exact median of the last test's samples in the window that ends with the pane of `at`. */
function quantile(at: number, newest: number): number {
  const startMs = (Math.floor(at / SHAPE.paneMs) - SHAPE.panes + 1) * SHAPE.paneMs;
  const rtts: number[] = [];
  for (let i = 0; i <= newest; i++) {
    if (NOW + i * 1000 < startMs) continue;
    for (let k = 0; k < 30; k++) rtts.push((1 + ((i * 37 + k * 11) % 400) / 7) / 1000);
  }
  rtts.sort((a, b) => a - b);
  return rtts[Math.ceil(rtts.length / 2) - 1]!;
}
