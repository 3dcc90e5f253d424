// An unmodified aggregator on a memory store and a memory bus fed by OTLP/HTTP.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator, AggregatorConfig } from "@isochrone/aggregator/testing";
import { PeerAssignment } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { nodeObject, probePod, type Seat } from "./cluster.ts";
import type { AggregatorCalls, Usage } from "./messages.ts";
import { serve, startUsage } from "./serve.ts";

const ASSIGN_RUNS = 5;

const clock = systemClock;
const store = createMemoryStore({ clock });
const registry = createRegistry();
let seats: readonly Seat[] = [];
let aggregator: Aggregator | null = null;
let usage: () => Usage = startUsage();
let before = { builds: 0, buildMs: 0 };

serve({
  async start(given, probePort) {
    seats = given;
    for (const seat of seats) await store.create(nodeObject(seat));
    const values = { host: "127.0.0.1", port: 0, probeUdpPort: probePort, probeTcpPort: probePort };
    const { aggregator: config } = loadSettings([aggregatorSettings], {
      env: {},
      file: { aggregator: values },
    });
    aggregator = createAggregator(config, {
      bus: createMemoryBus({ clock }),
      store,
      clock,
      random: systemRandom,
      logger: createLogger({ service: "scale-aggregator", level: "error", destination: process.stderr }),
      registry,
    });
    await aggregator.start();
    return { url: aggregator.address().url, assignMs: assignMs(config) };
  },
  async addPods() {
    for (const seat of seats) await store.create(probePod(seat));
    return null;
  },
  async removePods() {
    for (const seat of seats) {
      const { kind, apiVersion, metadata } = probePod(seat);
      const ref = { kind, apiVersion, namespace: metadata.namespace ?? "", name: metadata.name };
      // No kubelet would end them.
      await store.delete(ref, { gracePeriodSeconds: 0 });
    }
    return null;
  },
  async begin() {
    before = await builds();
    usage = startUsage();
    return null;
  },
  end: async () => usage(),
  async report() {
    const now = await builds();
    return {
      links: await sumOf("isochrone_aggregator_links"),
      series: await sumOf("isochrone_aggregator_series"),
      missingRecords: await sumOf("isochrone_records_missing_total"),
      refused:
        (await sumOf("isochrone_aggregator_refused_total")) +
        (await sumOf("isochrone_aggregator_http_refused_total")),
      builds: now.builds - before.builds,
      buildMs: now.buildMs - before.buildMs,
    };
  },
} satisfies AggregatorCalls);

/** Median time to choose all peers, as when a node comes or goes. */
function assignMs(config: AggregatorConfig): number {
  const nodes = seats.map(({ node, zone, region }) => ({ name: node, zone, region, eligible: true }));
  const rule = {
    fullMeshLimit: config.probeFullMeshLimit,
    peers: config.probePeers,
    maxZones: config.probeZonePeers,
    rotationMs: config.probeRotationMs,
  };
  const runs = Array.from({ length: ASSIGN_RUNS }, () => {
    const beganMs = clock.monotonic();
    const assignment = new PeerAssignment(nodes, rule);
    // The rotating peers of a window are chosen on first use.
    assignment.peersOf(nodes[0]!.name, clock.now());
    return clock.monotonic() - beganMs;
  });
  return runs.toSorted((a, b) => a - b)[ASSIGN_RUNS >> 1]!;
}

async function builds(): Promise<{ builds: number; buildMs: number }> {
  const name = "isochrone_aggregator_build_duration_seconds";
  return { builds: await sumOf(name, "_count"), buildMs: 1000 * (await sumOf(name, "_sum")) };
}

async function sumOf(name: string, ending = ""): Promise<number> {
  const metric = registry.getSingleMetric(name);
  const { values } = (await metric?.get()) ?? { values: [] };
  return values
    .filter((line) => ending === "" || ("metricName" in line && line.metricName === name + ending))
    .reduce((sum, { value }) => sum + value, 0);
}
