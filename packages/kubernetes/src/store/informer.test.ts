import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { createMemoryStore } from "../adapters/memory/memory.ts";
import { StoreError } from "./errors.ts";
import { createInformer } from "./informer.ts";
import type { Informer, InformerOptions } from "./informer.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject, ObjectList, WatchEvent } from "./port.ts";
import { StoreCounts } from "../adapters/api-server/store-counts.ts";

class FlakyStore {
  lists = 0;
  watches = 0;
  failure: Error | null = null;
  #cut = new AbortController();
  readonly #store: ClusterStore;

  constructor(store: ClusterStore) {
    this.#store = store;
  }

  cut(): void {
    this.#cut.abort();
    this.#cut = new AbortController();
  }

  asStore(): ClusterStore {
    return Object.assign(Object.create(this.#store) as ClusterStore, {
      list: (...args: Parameters<ClusterStore["list"]>) => this.list(...args),
      watch: (...args: Parameters<ClusterStore["watch"]>) => this.watch(...args),
    });
  }

  async list(...args: Parameters<ClusterStore["list"]>): Promise<ObjectList> {
    this.lists += 1;
    if (this.failure) throw this.failure;
    return await this.#store.list(...args);
  }

  async *watch(...[kind, options]: Parameters<ClusterStore["watch"]>): AsyncGenerator<WatchEvent> {
    this.watches += 1;
    if (this.failure) throw this.failure;
    yield* this.#store.watch(kind, {
      ...options,
      signal: AbortSignal.any([options.signal, this.#cut.signal]),
    });
    if (this.failure) throw this.failure;
  }
}

const node = (name: string, labels: Record<string, string> = {}): KubernetesObject => ({
  ...KINDS.node,
  metadata: { name, labels },
});

describe("informer", () => {
  let clock: ManualClock;
  let store: ClusterStore;
  let flaky: FlakyStore;
  let informer: Informer;
  let changes: string[];
  const logger = new MemoryLogger();
  const start = (options: Partial<InformerOptions> = {}): void => {
    changes = [];
    informer = createInformer({
      store: flaky.asStore(),
      kind: KINDS.node,
      clock,
      random: { next: () => 0.5 },
      logger,
      ...options,
    });
    informer.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
  };
  const names = (): string[] =>
    informer
      .items()
      .map(({ metadata }) => metadata.name)
      .toSorted();

  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryStore({ clock, historyLimit: 10 });
    flaky = new FlakyStore(store);
  });
  afterEach(() => informer.stop());

  it("lists, then follows every change", async () => {
    await store.create(node("a"));
    start();
    await informer.synced();
    expect(names()).toEqual(["a"]);
    await store.create(node("b"));
    await store.patch({ ...KINDS.node, name: "b" }, { metadata: { labels: { x: "1" } } });
    await store.delete({ ...KINDS.node, name: "a" });
    await vi.waitFor(() => expect(changes).toEqual(["added a", "added b", "modified b", "deleted a"]));
    expect(names()).toEqual(["b"]);
    expect(informer.get("b")?.metadata.labels).toEqual({ x: "1" });
  });

  it("follows only what has the fields, from the moment that it has them", async () => {
    const pod = (name: string, nodeName?: string): KubernetesObject => ({
      ...KINDS.pod,
      metadata: { name, namespace: "shop" },
      spec: nodeName === undefined ? {} : { nodeName },
    });
    for (const each of [pod("here", "n1"), pod("there", "n2"), pod("waiting")]) await store.create(each);
    start({ kind: KINDS.pod, fields: { "spec.nodeName": "n1" } });
    await informer.synced();
    expect(names()).toEqual(["here"]);
    await store.bind({ namespace: "shop", name: "waiting" }, "n1");
    await store.create(pod("other", "n2"));
    await store.delete({ ...KINDS.pod, namespace: "shop", name: "here" }, { gracePeriodSeconds: 0 });
    await vi.waitFor(() => expect(changes).toEqual(["added here", "added waiting", "deleted here"]));
    expect(names()).toEqual(["waiting"]);
  });

  it("tells a late listener of what is known, and a removed one nothing", async () => {
    await store.create(node("a"));
    start();
    await informer.synced();
    const late: string[] = [];
    const stop = informer.onChange(({ type, object }) => late.push(`${type} ${object.metadata.name}`));
    expect(late).toEqual(["added a"]);
    stop();
    await store.create(node("b"));
    await vi.waitFor(() => expect(changes).toContain("added b"));
    expect(late).toEqual(["added a"]);
  });

  it("resumes without listing again when a watch ends", async () => {
    start();
    await informer.synced();
    await store.create(node("a"));
    await vi.waitFor(() => expect(names()).toEqual(["a"]));
    flaky.cut();
    await store.create(node("b"));
    await clock.advance(1_000);
    await vi.waitFor(() => expect(names()).toEqual(["a", "b"]));
    expect([flaky.lists, flaky.watches]).toEqual([1, 2]);
  });

  it("lists again when it was overrun, and reports what changed meanwhile", async () => {
    await store.create(node("gone"));
    start();
    await informer.synced();
    flaky.cut();
    await store.delete({ ...KINDS.node, name: "gone" });
    for (let i = 0; i < 12; i += 1) await store.create(node(`n${i}`));
    await clock.advance(1_000);
    await vi.waitFor(() => expect(names()).toHaveLength(12));
    expect(changes).toContain("deleted gone");
    expect(flaky.lists).toBe(2);
  });

  it("tells a replaced object as deleted and added", async () => {
    await store.create(node("a"));
    start();
    await informer.synced();
    flaky.cut();
    await store.delete({ ...KINDS.node, name: "a" });
    for (let i = 0; i < 12; i += 1) await store.create(node(`n${i}`));
    await store.create(node("a"));
    await clock.advance(1_000);
    await vi.waitFor(() => expect(names()).toHaveLength(13));
    expect(changes.filter((change) => change.endsWith(" a"))).toEqual(["added a", "deleted a", "added a"]);
  });

  it("tries again with growing pauses while the server is away, and says so once", async () => {
    flaky.failure = new Error("connection refused");
    start();
    await clock.advance(10_000);
    // Pauses of 0.75, 1.5, 3 and 6 s start within 10 s.
    expect(flaky.lists).toBe(4);
    expect(logger.events("warn")).toEqual(["watching the cluster failed, trying again"]);
    flaky.failure = null;
    await store.create(node("a"));
    await clock.advance(30_000);
    await informer.synced();
    expect(names()).toEqual(["a"]);
  });

  it("tells its observer of lists, of restarts by their reason, and of every sign of the server", async () => {
    const counts = new StoreCounts(clock);
    await store.create(node("a"));
    flaky.failure = new StoreError("unavailable", "connection refused");
    start({ observer: counts });
    await clock.advance(2_000);
    expect(counts.silenceSeconds()).toEqual([]);
    flaky.failure = null;
    await clock.advance(10_000);
    await informer.synced();
    expect(counts.lists()).toEqual([[{ kind: "Node" }, 1]]);
    expect(counts.restarts()).toEqual([[{ kind: "Node", reason: "unavailable" }, 2]]);
    await store.create(node("b"));
    await vi.waitFor(() => expect(names()).toEqual(["a", "b"]));
    await clock.advance(7_000);
    expect(counts.silenceSeconds()).toEqual([[{ kind: "Node" }, 7]]);
    flaky.cut();
    for (let i = 0; i < 12; i += 1) await store.create(node(`n${i}`));
    await clock.advance(1_000);
    await vi.waitFor(() => expect(names()).toHaveLength(14));
    expect(counts.restarts()).toContainEqual([{ kind: "Node", reason: "expired" }, 1]);
    expect(counts.lists()).toEqual([[{ kind: "Node" }, 2]]);
  });

  it("begins with short pauses again after a watch that held for long, however quiet it was", async () => {
    const restarts: string[] = [];
    start({ observer: { restarted: (_, reason) => void restarts.push(reason) } });
    await informer.synced();
    const begins: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await clock.advance(60_000);
      const before = flaky.watches;
      flaky.failure = new Error("cut");
      flaky.cut();
      await vi.waitFor(() => expect(restarts).toHaveLength(round + 1));
      flaky.failure = null;
      await clock.advance(2_000);
      begins.push(flaky.watches - before);
    }
    expect(begins).toEqual([1, 1, 1, 1, 1]);
  });

  it("goes on when a listener throws", async () => {
    start();
    informer.onChange(() => {
      throw new Error("mine");
    });
    await informer.synced();
    await store.create(node("a"));
    await store.create(node("b"));
    await vi.waitFor(() => expect(changes).toEqual(["added a", "added b"]));
  });

  it("rejects those who wait for it when it is stopped before, or when their signal aborts", async () => {
    flaky.failure = new Error("connection refused");
    start();
    await expect(informer.synced(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    const [waiting] = await Promise.allSettled([informer.synced(), informer.stop()]);
    expect(waiting).toMatchObject({
      status: "rejected",
      reason: { message: expect.stringContaining("stopped before it had listed") },
    });
  });

  it("keeps its last state after stop, and follows no more", async () => {
    start();
    await informer.synced();
    await store.create(node("a"));
    await vi.waitFor(() => expect(names()).toEqual(["a"]));
    await informer.stop();
    await store.create(node("b"));
    await clock.advance(60_000);
    expect(names()).toEqual(["a"]);
  });
});
