// Unmodified probes with a shared measuring thread and a shared responder thread.
import { gzipSync } from "node:zlib";
import type { OutgoingRecord, Publisher } from "@isochrone/bus";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import { createMeasuringThreads, createProbe, type Probe } from "@isochrone/probe";
import { probeConfig } from "@isochrone/probe/testing";
import { createLogger, createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { MetricsDecoder, PROBE_METRICS } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { HMAC_SECRET } from "./keys.ts";
import type { ProbesCalls, ProbesReport, Usage } from "./messages.ts";
import { serve, startUsage } from "./serve.ts";

const HMAC_KEYS = `1:${HMAC_SECRET.toString("base64")}`;
/** Smaller records are sent uncompressed. */
const GZIP_MIN_BYTES = 1024;
/** Interval between the plan requests of two probes. Milliseconds. */
const REFRESH_STEP_MS = 5;

const clock = systemClock;
const logger = createLogger({ service: "scale-probes", level: "error", destination: process.stderr });
const probes: { readonly probe: Probe; readonly registry: Registry }[] = [];
let published: Uint8Array[] = [];
let keeping = false;
let usage: () => Usage = startUsage();

serve({
  async start(seats, port, aggregatorUrl, pace) {
    // Kernel sockets are polled one by one, which suits one node's forty but not thousands.
    const thread = createMeasuringThreads({ clock, logger, sockets: seats.length === 1 ? "auto" : "node" });
    const bus = keptPublisher(new OtlpHttpPublisher({ url: `${aggregatorUrl}/v1/metrics` }));
    for (const { node, zone, region, address } of seats) {
      const registry = createRegistry();
      const config = probeConfig({
        node,
        zone,
        region,
        bindAddress: address,
        udpPort: port,
        tcpPort: port,
        hmacKeys: HMAC_KEYS,
        aggregatorUrl,
        // On one machine bandwidth bursts would measure and saturate the machine itself.
        bandwidth: false,
        ...pace,
      });
      probes.push({
        probe: createProbe(config, { bus, clock, random: systemRandom, logger, registry, thread }),
        registry,
      });
    }
    await Promise.all(probes.map(({ probe }) => probe.start()));
    return null;
  },
  async refresh() {
    for (const { probe } of probes) {
      if (!probe.ready().ready) probe.refreshPlan();
      await clock.sleep(REFRESH_STEP_MS);
    }
    return allReady();
  },
  ready: async () => allReady(),
  async begin() {
    published = [];
    keeping = true;
    usage = startUsage();
    return null;
  },
  async end() {
    keeping = false;
    return usage();
  },
  report,
} satisfies ProbesCalls);

function allReady(): boolean {
  return probes.every(({ probe }) => probe.ready().ready);
}

/** Keeps records published during the measurement to count them afterwards. */
function keptPublisher(publisher: Publisher): Publisher {
  return {
    async publish(topic: string, records: readonly OutgoingRecord[], options): Promise<void> {
      await publisher.publish(topic, records, options);
      if (keeping) published.push(...records.map(({ value }) => value));
    },
  };
}

async function report(): Promise<ProbesReport> {
  const pages = await Promise.all(probes.map(({ registry }) => registry.metrics()));
  const dropped = pages.flatMap((page) => [...page.matchAll(/^isochrone_probe_records_dropped\S* (\d+)$/gm)]);
  return {
    ...countRecords(),
    records: published.length,
    bytes: sum(published.map(({ length }) => length)),
    compressedBytes: sum(
      published.map((value) => (value.length < GZIP_MIN_BYTES ? value.length : gzipSync(value).length)),
    ),
    dropped: sum(dropped.map(([, count]) => Number(count))),
    series: pages.map((page) => page.split("\n").filter((line) => line !== "" && line[0] !== "#").length),
  };
}

function countRecords(): Pick<ProbesReport, "nodeSeconds" | "outcomes" | "lostByMethod"> {
  const decoder = new MetricsDecoder();
  const outcomes: Record<string, number> = {};
  const lostByMethod: Record<string, number> = {};
  let nodeSeconds = 0;
  for (const record of published) {
    let seconds = 0;
    decoder.decode(record, {
      number({ name, attributes }, startMs, timeMs, value) {
        seconds = (timeMs - startMs) / 1000;
        if (name !== PROBE_METRICS.packets) return;
        const { outcome, method } = attributes;
        outcomes[String(outcome)] = (outcomes[String(outcome)] ?? 0) + value;
        if (outcome === "lost" && value > 0)
          lostByMethod[String(method)] = (lostByMethod[String(method)] ?? 0) + value;
      },
      histogram: () => {},
      exponentialHistogram: () => {},
      refused: (reason) => {
        throw new Error(`a probe published a point that its own decoder refuses: ${reason}`);
      },
    });
    nodeSeconds += seconds;
  }
  return { nodeSeconds, outcomes, lostByMethod };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
