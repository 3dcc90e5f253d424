import { isLibcSupported } from "@isochrone/kernel-sockets";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { ProbeError } from "../ports/errors.ts";
import type {
  BandwidthLease,
  BandwidthLeases,
  BandwidthMeasurement,
  PacketKey,
  ProbePeer,
} from "../ports/ports.ts";
import { HourBudget } from "./budget.ts";
import { BandwidthService, type BandwidthSettings } from "./service.ts";

const KEY: PacketKey = { id: 1, secret: Buffer.alloc(32, 1) };

class ListedLeases implements BandwidthLeases {
  readonly released: string[] = [];
  readonly asked: string[] = [];
  #out: string | null = null;
  overlapped = false;
  readonly #list: (BandwidthLease | null | Error)[];

  constructor(list: (BandwidthLease | null | Error)[]) {
    this.#list = list;
  }

  acquire(node: string): Promise<{ lease: BandwidthLease | null; retryAfterMs: number }> {
    this.asked.push(node);
    const next = this.#list.shift() ?? null;
    if (next instanceof Error) return Promise.reject(next);
    this.overlapped ||= this.#out !== null;
    this.#out = next?.id ?? null;
    return Promise.resolve({ lease: next, retryAfterMs: 1 });
  }

  release(lease: BandwidthLease): Promise<void> {
    this.released.push(lease.id);
    this.#out = null;
    return Promise.resolve();
  }
}

const open: BandwidthService[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.stop()));
});

interface Started {
  readonly service: BandwidthService;
  readonly measurements: BandwidthMeasurement[];
  leaseErrors: number;
}

async function start(
  node: string,
  leases: BandwidthLeases,
  change: Partial<BandwidthSettings> = {},
): Promise<Started> {
  const measurements: BandwidthMeasurement[] = [];
  const service = new BandwidthService(
    {
      node,
      identity: "127.0.0.1",
      bindAddress: "127.0.0.1",
      port: 0,
      intervalMs: 20,
      bytesPerHour: 1e9,
      maxBitsPerSecond: 20e6,
      dscp: 0,
      acceptTranslatedSource: false,
      hostNetwork: false,
      ...change,
    },
    { keys: [KEY], signingKeyId: 1 },
    {
      clock: systemClock,
      random: { next: () => 0.5 },
      logger: new MemoryLogger(),
      leases,
      onMeasurement: (measurement) => void measurements.push(measurement),
      onLeaseError: () => {
        started.leaseErrors++;
      },
    },
  );
  const started: Started = { service, measurements, leaseErrors: 0 };
  await service.start();
  open.push(service);
  return started;
}

const peerAt = (node: string, bandwidthPort: number | null): ProbePeer => ({
  node,
  zone: null,
  region: null,
  address: "127.0.0.1",
  identity: "127.0.0.1",
  udpPort: 1,
  tcpPort: 1,
  bandwidthPort,
});

const lease = (id: string, change: Partial<BandwidthLease> = {}): BandwidthLease => ({
  id,
  target: "b",
  expiresInMs: 20_000,
  maxBytes: 4e6,
  ...change,
});

describe.skipIf(!isLibcSupported())("bandwidth service", () => {
  test("tests by both transports, one after the other, and gives every lease back", async () => {
    const b = await start("b", new ListedLeases([]));
    const leases = new ListedLeases([lease("1"), null, lease("2")]);
    const a = await start("a", leases);
    a.service.setPeers([peerAt("b", b.service.port)]);
    await expect.poll(() => a.measurements.length, { timeout: 15_000 }).toBe(2);
    expect(a.measurements.map(({ transport }) => transport)).toEqual(["udp", "tcp"]);
    for (const { node, bytes, durationMs, result, achievedBitsPerSecond, reason } of a.measurements) {
      expect(node).toBe("b");
      expect(bytes).toBeGreaterThan(2000);
      expect(bytes).toBeLessThanOrEqual(4e6);
      expect(durationMs).toBeLessThan(2000);
      // Checks only that the two agree, since the machine may be busy.
      expect(achievedBitsPerSecond !== null).toBe(result === "ok");
      expect(reason === "").toBe(result === "ok");
    }
    await expect.poll(() => leases.released).toEqual(["1", "2"]);
    expect(leases.overlapped).toBe(false);
    const spent = a.measurements.reduce((total, { bytes }) => total + bytes, 0);
    expect(a.service.remainingBytes).toBe(1e9 - spent);
  });

  test("what can't begin says why, costs nothing, and gives the lease back", async () => {
    const leases = new ListedLeases([
      lease("gone", { target: "nobody" }),
      lease("mute", { target: "c" }),
      lease("short", { expiresInMs: 1000 }),
      lease("poor", { maxBytes: 1000 }),
    ]);
    const a = await start("a", leases);
    a.service.setPeers([peerAt("b", 9), peerAt("c", null)]);
    await expect.poll(() => a.measurements.length, { timeout: 5000 }).toBe(4);
    expect(a.measurements.map(({ result, bytes }) => [result, bytes])).toEqual([
      ["error", 0],
      ["error", 0],
      ["error", 0],
      ["skipped_budget", 0],
    ]);
    expect(leases.released).toEqual(["gone", "mute", "short", "poor"]);
  });

  test("the hour's bytes hold over many leases", async () => {
    const b = await start("b", new ListedLeases([]));
    const leases = new ListedLeases(Array.from({ length: 6 }, (_, i) => lease(String(i))));
    const a = await start("a", leases, { bytesPerHour: 1_200_000 });
    a.service.setPeers([peerAt("b", b.service.port)]);
    await expect.poll(() => a.measurements.length, { timeout: 18_000 }).toBe(6);
    const bytes = a.measurements.reduce((total, measurement) => total + measurement.bytes, 0);
    expect(bytes).toBeLessThanOrEqual(1_200_000);
    expect(a.service.remainingBytes).toBe(1_200_000 - bytes);
  });

  test("an aggregator that is away is counted and asked again; nothing is tested meanwhile", async () => {
    const away = new ProbeError("probe_lease_unreachable", "away", { retryable: true });
    const leases = new ListedLeases([away, away, lease("1", { target: "nobody" })]);
    const a = await start("a", leases);
    await expect.poll(() => a.measurements.length, { timeout: 5000 }).toBe(1);
    expect(a.leaseErrors).toBe(2);
  });

  test("stopping ends a test under way, and the lease is given back", async () => {
    const b = await start("b", new ListedLeases([]));
    const leases = new ListedLeases([lease("1")]);
    const a = await start("a", leases);
    a.service.setPeers([peerAt("b", b.service.port)]);
    await expect.poll(() => leases.asked.length).toBe(1);
    await a.service.stop();
    expect(leases.released).toEqual(["1"]);
    expect(a.service.port).toBe(0);
  });
});

describe("budget of an hour", () => {
  test("slides: what was spent comes back an hour later", () => {
    const budget = new HourBudget(1000);
    budget.spend(0, 400);
    budget.spend(1_800_000, 500);
    expect(budget.remaining(1_800_000)).toBe(100);
    expect(budget.remaining(3_599_999)).toBe(100);
    expect(budget.remaining(3_600_000)).toBe(500);
    expect(budget.remaining(5_400_000)).toBe(1000);
  });

  test("is never negative", () => {
    const budget = new HourBudget(10);
    budget.spend(0, 50);
    expect(budget.remaining(1)).toBe(0);
  });
});
