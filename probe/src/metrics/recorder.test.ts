import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Distribution, METHODS, type Method } from "@isochrone/telemetry";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { noOutcomes } from "../domain/tally.ts";
import type { EngineSnapshot, FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import { OWN_SERIES, chooseDetail, pairSeries } from "./detail.ts";
import type { Family } from "./family.ts";
import { MetricsRecorder, type RecorderOptions } from "./recorder.ts";
import { parseThrottling } from "./throttling.ts";

const PUBLISH_MS = 10_000;

function recorder(values: Partial<RecorderOptions> = {}): { recorder: MetricsRecorder; registry: Registry } {
  const registry = new Registry();
  const options: RecorderOptions = {
    registry,
    node: "a",
    methods: METHODS,
    intervalMs: 1000,
    publishIntervalMs: PUBLISH_MS,
    maxSeries: 500,
    pairHistograms: false,
    kepMetricNames: false,
    ...values,
  };
  return { recorder: new MetricsRecorder(options), registry };
}

function peers(count: number): ProbePeer[] {
  return Array.from({ length: count }, (_, i) => ({
    node: `n-${i}`,
    zone: `z-${i % 3}`,
    region: null,
    address: `10.0.${i >> 8}.${i & 255}`,
    identity: `10.0.${i >> 8}.${i & 255}`,
    udpPort: 7411,
    tcpPort: 7411,
    bandwidthPort: null,
  }));
}

function flow(node: string, method: Method): FlowSnapshot {
  const rtt = new Distribution();
  for (let i = 0; i < 200; i++) rtt.record(0.001 + i * 1e-5);
  return {
    node,
    method,
    ipFamily: 4,
    outcomes: {
      ...noOutcomes(),
      sent: 210,
      received: 200,
      lost: 8,
      late: 2,
      duplicate: 1,
      corrupt: 1,
      send_error: 2,
      discarded: 1,
    },
    errors: { timeout: 8, bad_hmac: 1, ENOBUFS: 2 },
    discards: { warmup: 1 },
    variationSeconds: 0.01,
    variationCount: 199,
    rtt: rtt.toData(),
    application: rtt.toData(),
    planned: rtt.toData(),
    stamps: { kernel: 200, user: 0 },
    renewals: method === "udp_rr" ? 1 : 0,
    hops: 3,
  };
}

function snapshot(nodes: readonly string[], methods: readonly Method[] = METHODS): EngineSnapshot {
  const one = new Distribution();
  one.record(1e-5);
  return {
    startMs: 1_700_000_000_000,
    endMs: 1_700_000_000_000 + PUBLISH_MS,
    flows: nodes.flatMap((node) => methods.map((method) => flow(node, method))),
    sendLateness: one.toData(),
    responder: { answered: 30, refused: { bad_hmac: 2, rate_limited: 1, kernel_dropped: 4 } },
    thread: { loopDelay: one.toData(), stalls: 1 },
    zeroCheck: { source: "kernel", sent: 20, received: 20, rtt: one.toData() },
    icmpProber: "kernel",
  };
}

async function lines(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

function filled(count: number, values: Partial<RecorderOptions> = {}) {
  const made = recorder(values);
  const list = peers(count);
  made.recorder.setPeers(list, "z-0");
  made.recorder.record(snapshot(list.map(({ node }) => node)));
  for (const { node } of list) {
    made.recorder.recordBandwidth({
      node,
      transport: "udp",
      result: "ok",
      reason: "",
      endMs: 0,
      achievedBitsPerSecond: 8e8,
      bytes: 1_000_000,
      durationMs: 300,
    });
  }
  return made;
}

describe("series", () => {
  test("at most 25 per peer with every method measured and every kind of trouble", async () => {
    const all = await lines(filled(1).registry);
    const ofPair = all.filter((line) => line.includes('destination_node="n-0"'));
    expect(ofPair.length).toBeGreaterThan(20);
    expect(ofPair.length).toBeLessThanOrEqual(25);
    expect(ofPair.length).toBeLessThanOrEqual(
      pairSeries("full", {
        methods: METHODS,
        maxSeries: 500,
        pairHistograms: false,
        kepMetricNames: false,
      }),
    );
  });

  test.each([1, 5, 11, 13, 20, 31, 60, 100, 300, 512])(
    "at most 500 in all with %i peers, and always the pair's loss or the count of silent peers",
    async (count) => {
      const all = await lines(filled(count).registry);
      expect(all.length).toBeLessThanOrEqual(500);
      const own = all.filter((line) => !line.includes("destination_node="));
      expect(own.length).toBeLessThanOrEqual(OWN_SERIES);
      expect(all).toContain('isochrone_unreachable_peers{source_node="a"} 0');
      expect(all.some((line) => line.startsWith("isochrone_rr_latency_seconds_bucket{source_node="))).toBe(
        true,
      );
    },
  );

  test("carry no other labels than their metric says that it has", async () => {
    const { registry } = filled(2, { pairHistograms: true, kepMetricNames: true });
    for (const metric of registry.getMetricsAsArray()) {
      const family = metric as unknown as Family<unknown>;
      const { values } = await family.get();
      const { labelNames, name } = family;
      const used = new Set(values.flatMap(({ labels }) => Object.keys(labels)));
      used.delete("le");
      expect([name, [...used].filter((label) => !labelNames.includes(label))]).toEqual([name, []]);
    }
  });

  test("detail gives way to number step by step", () => {
    const options = { methods: METHODS, maxSeries: 500, pairHistograms: false, kepMetricNames: false };
    const chosen = [1, 11, 15, 20, 40, 100, 101].map((count) => chooseDetail(count, options));
    expect(chosen).toEqual(["full", "full", "lean", "lean", "summary", "summary", "none"]);
    expect(chooseDetail(100, { ...options, maxSeries: 5000 })).toBe("full");
  });

  test("a histogram of each pair only when asked for; one per source always", async () => {
    const own = await lines(filled(2).registry);
    expect(own.filter((line) => /_bucket\{.*destination_node=/.test(line))).toEqual([]);
    const pairs = await lines(filled(2, { pairHistograms: true, maxSeries: 5000 }).registry);
    const infinite = pairs.filter((line) => /isochrone_icmp_rtt_seconds_bucket\{.*le="\+Inf"/.test(line));
    expect(infinite).toHaveLength(2);
    expect(infinite.every((line) => line.includes("destination_node=") && line.endsWith(" 200"))).toBe(true);
  });

  test("of a peer that left, or changed zone, nothing stays; nor of the whole probe when it closes", async () => {
    const { recorder: page, registry } = filled(2, { kepMetricNames: true });
    const [first, second] = peers(2) as [ProbePeer, ProbePeer];
    page.setPeers([{ ...first, zone: "elsewhere" }], "z-0");
    const left = (await lines(registry)).filter((line) => /destination(_node)?="/.test(line));
    expect(left).toEqual([]);
    page.record(snapshot([first.node, second.node]));
    const again = (await lines(registry)).filter((line) => /destination(_node)?="/.test(line));
    expect(again.length).toBeGreaterThan(20);
    expect(again.every((line) => line.includes('="n-0"'))).toBe(true);
    expect(again.some((line) => line.includes('destination_zone="elsewhere"'))).toBe(true);
    page.close();
    expect(await lines(registry)).toEqual([]);
  });
});

describe("values", () => {
  test("quantiles, loss, jitter, hops and bandwidth of a pair in base units", async () => {
    const all = await lines(filled(1).registry);
    const pair = 'source_node="a",destination_node="n-0",source_zone="z-0",destination_zone="z-0"';
    const valueOf = (start: string): number => {
      const found = all.filter((line) => line.startsWith(start));
      if (found.length !== 1) throw new Error(`${start}: ${found.length} lines`);
      return Number(found[0]?.split(" ").at(-1));
    };
    const udp = `{${pair},ip_family="4",protocol="udp"`;
    expect(valueOf(`isochrone_rr_latency_quantile_seconds${udp},quantile="0.5"}`)).toBeCloseTo(0.002, 4);
    expect(valueOf(`isochrone_rr_latency_quantile_seconds${udp},quantile="0.9"}`)).toBeCloseTo(0.0028, 4);
    expect(valueOf(`isochrone_rr_latency_quantile_seconds${udp},quantile="0.99"}`)).toBeCloseTo(0.00298, 4);
    expect(valueOf(`isochrone_rr_loss_ratio${udp}}`)).toBeCloseTo(8 / 210, 12);
    expect(valueOf(`isochrone_rr_requests_total${udp}}`)).toBe(210);
    expect(valueOf(`isochrone_rr_transactions_total${udp}}`)).toBe(200);
    expect(valueOf(`isochrone_udp_jitter_seconds{${pair},ip_family="4"}`)).toBeCloseTo(0.01 / 199, 12);
    expect(valueOf(`isochrone_hops{${pair},ip_family="4"}`)).toBe(3);
    expect(valueOf(`isochrone_bandwidth_bytes_per_second{${pair}}`)).toBe(1e8);
    expect(valueOf(`isochrone_probe_last_success_timestamp_seconds{${pair}`)).toBe(1_700_000_010);
    expect(valueOf('isochrone_icmp_packets_lost_total{source_node="a"}')).toBe(8);
    expect(valueOf('isochrone_bandwidth_probes_total{source_node="a",result="ok"}')).toBe(1);
    expect(
      valueOf(
        'isochrone_timestamp_source_info{source_node="a",method="icmp",source="kernel",prober="kernel"}',
      ),
    ).toBe(1);
  });

  test("a peer of which nothing came counts as unreachable; one that nobody asked doesn't", async () => {
    const { recorder: page, registry } = recorder();
    const list = peers(3);
    page.setPeers(list, "z");
    const silent = { ...flow("n-1", "udp_rr") };
    page.record({
      ...snapshot(["n-0"]),
      flows: [
        flow("n-0", "udp_rr"),
        { ...silent, outcomes: { ...noOutcomes(), sent: 10, lost: 10 }, rtt: new Distribution().toData() },
      ],
    });
    const all = await lines(registry);
    expect(all).toContain('isochrone_unreachable_peers{source_node="a"} 1');
    expect(all).toContain('isochrone_peers{source_node="a",state="known"} 3');
    expect(all).toContain('isochrone_peers{source_node="a",state="probed"} 1');
  });

  test.each([
    ["is sent nothing", {}, "untried"],
    ["is sent packets that are still under way", { sent: 5 }, "untried"],
    ["is sent too few to tell", { sent: 2, lost: 2 }, "untried"],
    ["answers too late for a sample", { sent: 10, lost: 10, late: 1 }, "probed"],
    ["answers with what can't be trusted", { sent: 10, received: 1, discarded: 1, lost: 9 }, "probed"],
    ["answers nothing", { sent: 3, lost: 3 }, "unreachable"],
    ["can't be sent anything", { send_error: 3 }, "unreachable"],
    ["is lost in part and not sendable in part", { sent: 2, lost: 2, send_error: 1 }, "unreachable"],
  ] as const)("a peer that %s", async (_what, outcomes, state) => {
    const { recorder: page, registry } = recorder();
    page.setPeers(peers(1), "z");
    const quiet = { ...flow("n-0", "udp_rr"), rtt: new Distribution().toData() };
    page.record({ ...snapshot([]), flows: [{ ...quiet, outcomes: { ...noOutcomes(), ...outcomes } }] });
    const all = await lines(registry);
    const count = (of: string): string => (state === of ? "1" : "0");
    expect(all).toContain(`isochrone_unreachable_peers{source_node="a"} ${count("unreachable")}`);
    for (const of of ["probed", "untried"])
      expect(all).toContain(`isochrone_peers{source_node="a",state="${of}"} ${count(of)}`);
  });

  test("KEP-260's names in microseconds, when asked for", async () => {
    const all = await lines(filled(1, { kepMetricNames: true }).registry);
    const median = all.find((line) => line.startsWith("netperf_p50_latency_microseconds"));
    expect(median).toMatch(/^netperf_p50_latency_microseconds\{origin="a",destination="n-0"\} /);
    expect(Number(median?.split(" ").at(-1))).toBeCloseTo(2000, -2);
    expect((await lines(filled(1).registry)).filter((line) => line.startsWith("netperf_"))).toEqual([]);
  });

  test.each([
    ["nr_periods 5\nnr_throttled 3\nthrottled_usec 1500000\n", { periods: 3, seconds: 1.5 }],
    ["nr_periods 5\nnr_throttled 2\nthrottled_time 2500000000\n", { periods: 2, seconds: 2.5 }],
    ["usage_usec 12\n", null],
    ["nr_throttled many\nthrottled_usec 1\n", null],
  ])("CPU throttling of either version of control groups: %j", (text, expected) => {
    expect(parseThrottling(text)).toEqual(expected);
  });
});

const promtool = spawnSync("promtool", ["--version"]).status === 0;
// In CI a missing tool is a set-up failure, not a reason to skip.
test.skipIf(!promtool && process.env["CI"] !== "true")(
  "promtool finds nothing to say about the page",
  async () => {
    const { registry } = filled(3, { kepMetricNames: true, pairHistograms: true, maxSeries: 5000 });
    const folder = mkdtempSync(join(tmpdir(), "isochrone-promtool-"));
    try {
      const file = join(folder, "page.txt");
      writeFileSync(file, await registry.metrics());
      const { status, stdout, stderr } = spawnSync("sh", ["-c", 'promtool check metrics < "$0"', file], {
        encoding: "utf8",
      });
      // KEP-260's names break the rule of base units; they are an external contract.
      const said = `${stdout}${stderr}`
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("netperf_"));
      expect(said).toEqual([]);
      expect([0, 3]).toContain(status);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
