import { createRegistry } from "@isochrone/runtime";
import { configWith, ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createCollectorMetrics } from "./metrics.ts";
import type { Target } from "./ports/ports.ts";
import { Rounds } from "./rounds.ts";
import { collectorSettings, type CollectorConfig } from "./settings.ts";

const configOf = (collector: Partial<CollectorConfig>): CollectorConfig =>
  configWith(collectorSettings, { node: "n1", ...collector });

interface Page {
  readonly takesMs?: number;
  readonly bytes?: number;
  readonly fails?: boolean;
  readonly lacks?: boolean;
  readonly more?: Partial<Target>;
}

function roundsOver(pages: Record<string, Page>, settings: Partial<CollectorConfig> = {}) {
  const clock = new ManualClock();
  const registry = createRegistry();
  const metrics = createCollectorMetrics(registry);
  const read: { instance: string; atMs: number; timeoutMs: number }[] = [];
  let active = 0;
  let most = 0;
  const rounds = new Rounds({
    config: configOf(settings),
    source: {
      targets: () =>
        Object.entries(pages).map(([instance, { more }]): Target => ({
          kind: "istio",
          role: "sidecar",
          url: `http://${instance}`,
          instance,
          ...more,
        })),
    },
    clock,
    random: { next: () => 0 },
    logger: new MemoryLogger(),
    metrics,
    async scrape({ instance }, timeoutMs, signal) {
      const { takesMs = 10, bytes = 1_000, fails = false, lacks = false } = pages[instance] ?? {};
      read.push({ instance, atMs: clock.monotonic(), timeoutMs });
      most = Math.max(most, ++active);
      await clock.sleep(Math.min(takesMs, timeoutMs), signal).catch(() => undefined);
      active--;
      if (signal.aborted) return null;
      if (fails || takesMs > timeoutMs) return { outcome: "failed", bytes };
      return { outcome: lacks ? "incomplete" : "whole", bytes };
    },
  });
  const value = async (name: string, labels: Record<string, string>): Promise<number> => {
    const { values } = await registry.getSingleMetric(name)!.get();
    return (
      values.find((each) => Object.entries(labels).every(([key, wanted]) => each.labels[key] === wanted))
        ?.value ?? 0
    );
  };
  const stop = new AbortController();
  const run = async (): Promise<string[]> => {
    const from = read.length;
    const running = rounds.run(stop.signal);
    await clock.advance(10_000);
    await running;
    return read.slice(from).map(({ instance }) => instance);
  };
  return { clock, metrics, rounds, read, run, value, stop, most: () => most };
}

const named = (count: number, page: Page = {}): Record<string, Page> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, page]));
const SKIPPED = "isochrone_collector_skipped_total";

describe("Rounds", () => {
  let current: ReturnType<typeof roundsOver> | null = null;
  const over = (...args: Parameters<typeof roundsOver>): ReturnType<typeof roundsOver> =>
    (current = roundsOver(...args));
  afterEach(() => current?.rounds.close());

  it("reads all pages, no more at a time than allowed", async () => {
    const { run, most } = over(named(100), { concurrency: 7 });
    expect((await run()).length).toBe(100);
    expect(most()).toBe(7);
  });

  it("lets pages that hang keep nobody waiting, not even when there are more of them than can be read at a time", async () => {
    const pages: Record<string, Page> = { ...named(10) };
    const { run, read } = over(pages, { concurrency: 4 });
    await run();
    for (let i = 0; i < 50; i++) pages[`hangs${i}`] = { takesMs: 60_000 };
    for (let round = 0; round < 5; round++) {
      const begin = read.length;
      await run();
      const startMs = read[begin]!.atMs;
      const good = read.slice(begin).filter(({ instance }) => instance.startsWith("p"));
      expect(good.map(({ instance }) => instance).toSorted()).toEqual(Object.keys(named(10)));
      // Two of the four workers read ten pages of 10 ms each.
      expect(Math.max(...good.map(({ atMs }) => atMs)) - startMs).toBeLessThanOrEqual(50);
    }
  });

  it("reads new pages even where the known ones fill the round", async () => {
    const pages: Record<string, Page> = { ...named(4, { takesMs: 4_000 }) };
    const { run } = over(pages, { concurrency: 2 });
    await run();
    pages["new"] = {};
    expect(await run()).toContain("new");
  });

  it("begins no page that could not be finished within the interval, counts it, and begins with it next time", async () => {
    const { run, value } = over(named(4, { takesMs: 4_000 }), { concurrency: 1, timeoutMs: 5_000 });
    expect(await run()).toEqual(["p0", "p1"]);
    expect(await value(SKIPPED, { kind: "istio", reason: "round_time" })).toBe(2);
    expect(await run()).toEqual(["p2", "p3"]);
  });

  it("stops when a round has read its bytes, counts the rest, and begins with it next time", async () => {
    const { run, value } = over(named(6, { bytes: 40_000 }), {
      concurrency: 1,
      maxPageBytes: 40_000,
      maxRoundBytes: 100_000,
    });
    expect(await run()).toEqual(["p0", "p1", "p2"]);
    expect(await value(SKIPPED, { kind: "istio", reason: "round_bytes" })).toBe(3);
    expect(await run()).toEqual(["p3", "p4", "p5"]);
  });

  it("counts pages by kind and role, those that are up and those that fail, and those that are put off", async () => {
    const { run, value, rounds, metrics } = over({
      good: {},
      bad: { fails: true },
      ztunnel: { more: { role: "ztunnel" } },
      node: { lacks: true, more: { kind: "cadvisor", role: "kubelet" } },
      spare: { more: { kind: "resource", role: "kubelet", standsInFor: "node" } },
    });
    for (let round = 0; round < 3; round++) await run();
    expect(await value("isochrone_collector_targets", { kind: "istio", role: "sidecar" })).toBe(2);
    expect(await value("isochrone_collector_targets", { kind: "istio", role: "ztunnel" })).toBe(1);
    expect(await value("isochrone_collector_targets_up", { kind: "istio" })).toBe(2);
    expect(await value("isochrone_collector_targets_failing", { kind: "istio" })).toBe(1);
    expect(await value("isochrone_collector_targets_up", { kind: "cadvisor" })).toBe(1);
    expect(await value("isochrone_collector_targets_failing", { kind: "cadvisor" })).toBe(0);
    expect(await value("isochrone_collector_targets_incomplete", { kind: "cadvisor" })).toBe(1);
    expect(await value("isochrone_collector_targets_up", { kind: "resource" })).toBe(0);
    expect(await run()).toContain("spare");
    expect(await value(SKIPPED, { kind: "istio", reason: "backoff" })).toBe(1);
    expect((await metrics.targets.get()).values).toHaveLength(4);
    rounds.close();
    expect(await value("isochrone_collector_targets", { kind: "istio", role: "sidecar" })).toBe(0);
  });

  it("ends at once when it is stopped, and judges no page by that", async () => {
    const { rounds, stop, clock, value } = over(named(20, { takesMs: 4_000 }), { concurrency: 2 });
    const running = rounds.run(stop.signal);
    await clock.advance(100);
    stop.abort();
    await running;
    expect(clock.monotonic()).toBe(100);
    expect(await value("isochrone_collector_targets_failing", { kind: "istio" })).toBe(0);
  });

  it("reads all pages of a namespace in each round, however many slow pages another one has", async () => {
    const evil = { takesMs: 4_000, more: { namespace: "evil" } };
    const shop = { takesMs: 10, more: { namespace: "shop" } };
    const pages = {
      ...Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`evil-${i}`, evil])),
      ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`shop-${i}`, shop])),
    };
    const { run } = over(pages, { concurrency: 4 });
    for (const _ of [1, 2, 3, 4]) {
      const read = await run();
      expect(read.filter((instance) => instance.startsWith("shop"))).toHaveLength(12);
      expect(read.filter((instance) => instance.startsWith("evil")).length).toBeGreaterThan(4);
    }
  });

  it("reads all pages of a namespace in each round, however many bytes another one's have", async () => {
    const evil = { bytes: 1_000_000, more: { namespace: "evil" } };
    const shop = { bytes: 10_000, more: { namespace: "shop" } };
    const pages = {
      ...Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`evil-${i}`, evil])),
      ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`shop-${i}`, shop])),
    };
    const { run } = over(pages, { maxPageBytes: 1_000_000, maxRoundBytes: 5_000_000, concurrency: 2 });
    for (const _ of [1, 2, 3, 4])
      expect((await run()).filter((instance) => instance.startsWith("shop"))).toHaveLength(12);
  });
});
