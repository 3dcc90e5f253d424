import { createMemoryBus } from "@isochrone/bus/memory";
import { isLibcSupported } from "@isochrone/kernel-sockets";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, PROBE_METRICS, TOPICS } from "@isochrone/telemetry";
import { afterEach, describe, expect, test } from "vitest";
import type { ProbeConfig } from "../settings.ts";
import { probeConfig } from "../testing/probe-config.ts";
import { toBandwidthBatch } from "../domain/batch.ts";
import type { BandwidthLeases, ProbePeer } from "../ports/ports.ts";
import { createProbe, type Probe } from "../probe.ts";
import { TEST_HMAC_KEYS } from "../testing/harness.ts";
import { SettablePlanSource, planFor } from "../testing/plans.ts";

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.stop();
});

const generous: BandwidthLeases = {
  acquire: () =>
    Promise.resolve({
      lease: { id: "1", target: "b", expiresInMs: 20_000, maxBytes: 3e6 },
      retryAfterMs: 1000,
    }),
  release: () => Promise.resolve(),
};

const nobody: BandwidthLeases = {
  acquire: () => Promise.resolve({ lease: null, retryAfterMs: 60_000 }),
  release: () => Promise.resolve(),
};

describe.skipIf(!isLibcSupported())("bandwidth of a probe", () => {
  test("a lease becomes a test of the peer, and its result a record and a metric", async () => {
    const bus = createMemoryBus({ clock: systemClock });
    open.push({ stop: () => bus.close() });
    const points: { metric: string; attributes: unknown; value: number }[] = [];
    const decoder = new MetricsDecoder();
    await bus.subscribe({
      topics: [TOPICS.probe],
      from: "earliest",
      async onBatch(batch) {
        for (const { value } of batch.records) {
          decoder.decode(value, {
            number: ({ name, attributes }, _startMs, _timeMs, value) =>
              void points.push({ metric: name, attributes, value }),
            histogram: () => {},
            exponentialHistogram: () => {},
            refused: (reason) => expect.unreachable(`a point was refused: ${reason}`),
          });
        }
      },
    });
    const registry = createRegistry();
    const start = async (
      values: Partial<ProbeConfig> & { readonly node: string; readonly bindAddress: string },
      peers: readonly ProbePeer[],
      bandwidthLeases: BandwidthLeases,
    ): Promise<Probe> => {
      const config = probeConfig({
        hmacKeys: TEST_HMAC_KEYS,
        udpPort: 0,
        tcpPort: 0,
        bandwidthPort: 0,
        bandwidthIntervalMs: 1000,
        bandwidthMaxBitsPerSecond: 10e6,
        zeroCheckIntervalMs: 0,
        methods: ["udp_rr"],
        ...values,
      });
      const { node, bindAddress } = values;
      const planSource = new SettablePlanSource(planFor(node, peers, { identity: bindAddress }));
      const deps = { bus, clock: systemClock, random: systemRandom, logger: new MemoryLogger() };
      const probe = createProbe(config, { ...deps, registry, planSource, bandwidthLeases });
      open.push(probe);
      await probe.start();
      return probe;
    };
    const b = await start({ node: "b", bindAddress: "127.0.0.2" }, [], nobody);
    expect(b.bandwidthPort).toBeGreaterThan(0);
    const peer: ProbePeer = {
      node: "b",
      zone: "z1",
      region: "r1",
      address: "127.0.0.2",
      identity: "127.0.0.2",
      udpPort: b.udpPort,
      tcpPort: b.tcpPort,
      bandwidthPort: b.bandwidthPort,
    };
    const a = await start({ node: "a", bindAddress: "127.0.0.1" }, [peer], generous);
    const rates = (): number[] =>
      points.filter(({ metric }) => metric === PROBE_METRICS.bandwidth).map(({ value }) => value);
    await expect.poll(() => rates().length, { timeout: 18_000 }).toBeGreaterThan(0);
    expect(rates()[0]).toBeGreaterThan(7e6);
    expect(rates()[0]).toBeLessThan(13e6);
    const ends = points.filter(({ metric }) => metric === PROBE_METRICS.bandwidthTests);
    expect(ends.map(({ attributes }) => attributes)).toContainEqual(
      expect.objectContaining({ destination_node: "b", result: "ok" }),
    );
    expect(await registry.metrics()).toMatch(/isochrone_bandwidth_probes_total\{[^}]*result="ok"[^}]*\} \d/);
    await a.stop();
    expect(a.bandwidthPort).toBe(0);
  });

  test("a port that is taken leaves the probe without bandwidth tests, and says so", async () => {
    const logger = new MemoryLogger();
    const registry = createRegistry();
    const bus = createMemoryBus({ clock: systemClock });
    open.push({ stop: () => bus.close() });
    const made: Probe[] = [];
    for (const [node, bandwidthPort] of [
      ["a", 0],
      ["b", null],
    ] as const) {
      const config = probeConfig({
        node,
        hmacKeys: TEST_HMAC_KEYS,
        bindAddress: "127.0.0.1",
        udpPort: 0,
        tcpPort: 0,
        bandwidthPort: bandwidthPort ?? made[0]!.bandwidthPort,
        zeroCheckIntervalMs: 0,
        methods: ["udp_rr"],
      });
      const planSource = new SettablePlanSource(planFor(node, []));
      const deps = { bus, clock: systemClock, random: systemRandom, logger, registry };
      const probe = createProbe(config, { ...deps, planSource, bandwidthLeases: nobody });
      open.push(probe);
      made.push(probe);
      await probe.start();
    }
    expect(made[0]?.bandwidthPort).toBeGreaterThan(0);
    expect(made[1]?.bandwidthPort).toBe(0);
    expect(made[1]?.udpPort).toBeGreaterThan(0);
    expect(logger.lines.map(({ event }) => event)).toContain("no bandwidth tests");
  });
});

test("a test that was skipped has no rate on the bus, and none that didn't begin has bytes", () => {
  const batch = toBandwidthBatch(
    { node: "a", zone: "z", region: null },
    {
      node: "b",
      transport: "udp",
      result: "skipped_busy",
      reason: "x",
      endMs: 1_000_000,
      achievedBitsPerSecond: null,
      bytes: 0,
      durationMs: 0,
    },
  );
  expect(batch.metrics.map(({ name }) => name)).toEqual([PROBE_METRICS.bandwidthTests]);
  expect(batch.metrics[0]?.points[0]).toMatchObject({
    attributes: { destination_node: "b", transport: "udp", result: "skipped_busy" },
    startMs: 999_999,
    timeMs: 1_000_000,
    value: 1,
  });
});
