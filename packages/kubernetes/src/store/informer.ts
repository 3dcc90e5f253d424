import { DEFAULT_BACKOFF, delayMs, pause } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";

import { definedOf } from "@isochrone/primitives";
import { isStoreError, StoreError } from "./errors.ts";
import { keyOf } from "./objects.ts";
import type { ObjectOf } from "../kinds.ts";
import type {
  ClusterStore,
  Detail,
  FieldSelector,
  InformerObserver,
  KindRef,
  KubernetesObject,
  ListOptions,
  WatchEvent,
} from "./port.ts";

/** One change of the cached set. `object` is the last known state of a deleted one. */
export interface InformerChange<T = KubernetesObject> {
  readonly type: "added" | "modified" | "deleted";
  readonly object: T;
}

/** How an informer is built. */
export interface InformerOptions<K extends KindRef = KindRef> extends Detail {
  readonly store: ClusterStore;
  readonly kind: K;
  /** Only objects of this namespace. @default all */
  readonly namespace?: string;
  /** Only objects with these values. @default all */
  readonly fields?: FieldSelector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger?: Logger;
  /** Longest pause between attempts after errors; the first is about a second. @default 30000 */
  readonly maxBackoffMs?: number;
  /** @default the store's own */
  readonly observer?: InformerObserver;
}

/**
 * A cache of one kind that follows the store: it lists, watches on from there, and lists again when the watch
 * was overrun.
 */
export interface Informer<T = KubernetesObject> {
  /** What is known now, in no particular order. The objects are shared: never change them. */
  items(): readonly T[];
  get(name: string, namespace?: string): T | null;
  /**
   * Hears of every change in order, beginning with the objects that are known already (as added). The result
   * ends it.
   */
  onChange(listener: (change: InformerChange<T>) => void): () => void;
  /** Whether all were listed at least once. */
  readonly isSynced: boolean;
  /** Resolves after the first full list; rejects when stopped before, or with the signal's reason. */
  synced(signal?: AbortSignal): Promise<void>;
  /** Ends the watch; the cache keeps its last state. */
  stop(): Promise<void>;
}

const FIRST_BACKOFF_MS = 1_000;

/** Starts at once. Errors never end it: it tries again, with growing pauses. */
export function createInformer<const K extends KindRef>(options: InformerOptions<K>): Informer<ObjectOf<K>> {
  return new WatchingInformer(options);
}

class WatchingInformer<K extends KindRef> implements Informer<ObjectOf<K>> {
  readonly #options: InformerOptions<K>;
  readonly #items = new Map<string, ObjectOf<K>>();
  readonly #listeners = new Set<(change: InformerChange<ObjectOf<K>>) => void>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  #isSynced = false;
  /** Where to watch on; null: list first. */
  #version: string | null = null;
  #failures = 0;
  /** When the last list or watch began. */
  #triedAtMs = 0;

  constructor(options: InformerOptions<K>) {
    this.#options = options;
    // Nobody need wait for it.
    this.#synced.promise.catch(() => undefined);
    this.#running = this.#run();
  }

  items(): readonly ObjectOf<K>[] {
    return [...this.#items.values()];
  }

  get(name: string, namespace?: string): ObjectOf<K> | null {
    return this.#items.get(`${namespace ?? ""}/${name}`) ?? null;
  }

  onChange(listener: (change: InformerChange<ObjectOf<K>>) => void): () => void {
    this.#listeners.add(listener);
    for (const object of this.#items.values()) this.#call(listener, { type: "added", object });
    return () => this.#listeners.delete(listener);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  async synced(signal?: AbortSignal): Promise<void> {
    if (!signal) return await this.#synced.promise;
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    await Promise.race([this.#synced.promise, promise]).finally(() =>
      signal.removeEventListener("abort", onAbort),
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#triedAtMs = this.#options.clock.monotonic();
      try {
        if (this.#version === null) await this.#list();
        await this.#watch(this.#version ?? "0");
      } catch (error) {
        if (!signal.aborted) await this.#recover(error);
      }
    }
    this.#synced.reject(
      new Error(`the informer of ${this.#options.kind.kind} was stopped before it had listed`),
    );
  }

  async #list(): Promise<void> {
    const { store, kind, clock, observer = store.informerObserver } = this.#options;
    const startedAtMs = clock.monotonic();
    const { items, resourceVersion } = await store.list(kind, this.#where());
    if (this.#stop.signal.aborted) return;
    const listed = new Map(items.map((object) => [keyOf(object), object]));
    for (const [key, object] of this.#items) {
      if (!listed.has(key)) this.#remove(object);
    }
    for (const object of listed.values()) this.#put(object);
    this.#version = resourceVersion;
    observer?.listed?.(kind.kind, { items: items.length, durationMs: clock.monotonic() - startedAtMs });
    observer?.heard?.(kind.kind);
    this.#isSynced = true;
    this.#synced.resolve();
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { store, kind, observer = store.informerObserver } = this.#options;
    const { signal } = this.#stop;
    for await (const event of store.watch(kind, { resourceVersion, signal, ...this.#where() })) {
      if (signal.aborted) return;
      this.#take(event);
      observer?.heard?.(kind.kind);
      this.#failures = 0;
    }
    // A server ends watches now and then; without a pause one that ends each at once would be called in a
    // tight loop.
    await pause(this.#options.clock, FIRST_BACKOFF_MS * this.#options.random.next(), signal);
  }

  #where(): Pick<ListOptions, "namespace" | "fields" | keyof Detail> {
    const { namespace, fields, metadataOnly, trim } = this.#options;
    return {
      ...definedOf({ namespace, fields, metadataOnly, trim }),
    };
  }

  #take(event: WatchEvent<ObjectOf<K>>): void {
    if (event.type === "bookmark") {
      this.#version = event.resourceVersion;
      return;
    }
    if (event.type === "deleted") this.#remove(event.object);
    else this.#put(event.object);
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
  }

  #put(object: ObjectOf<K>): void {
    const key = keyOf(object);
    const known = this.#items.get(key);
    if (known && known.metadata.uid !== object.metadata.uid) this.#remove(known);
    else if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) return;
    const type = this.#items.has(key) ? "modified" : "added";
    this.#items.set(key, object);
    this.#tell({ type, object });
  }

  #remove(object: ObjectOf<K>): void {
    if (this.#items.delete(keyOf(object))) this.#tell({ type: "deleted", object });
  }

  #tell(change: InformerChange<ObjectOf<K>>): void {
    for (const listener of this.#listeners) this.#call(listener, change);
  }

  /** A listener's fault is its own: the cache and the other listeners go on. */
  #call(listener: (change: InformerChange<ObjectOf<K>>) => void, change: InformerChange<ObjectOf<K>>): void {
    try {
      listener(change);
    } catch (error) {
      this.#options.logger?.error("informer listener failed", { kind: this.#options.kind.kind, error });
    }
  }

  /** An overrun watch lists again at once, unless that was tried just now; everything else waits first. */
  async #recover(error: unknown): Promise<void> {
    const { store, clock, random, logger, kind, maxBackoffMs = 30_000 } = this.#options;
    const observer = this.#options.observer ?? store.informerObserver;
    const expired = isStoreError(error, "expired");
    if (expired) this.#version = null;
    observer?.restarted?.(kind.kind, error instanceof StoreError ? error.code : "other");
    // What went well for so long has nothing to do with failures of before.
    if (clock.monotonic() - this.#triedAtMs > maxBackoffMs) this.#failures = 0;
    this.#failures += 1;
    if (expired && this.#failures === 1) return;
    logger?.warnOnce(`informer:${kind.kind}`, "watching the cluster failed, trying again", {
      kind: kind.kind,
      error,
    });
    const delays = { ...DEFAULT_BACKOFF, initialMs: FIRST_BACKOFF_MS, maxMs: maxBackoffMs };
    await pause(clock, delayMs(delays, this.#failures, random), this.#stop.signal);
  }
}
