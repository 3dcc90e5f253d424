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

/** A change of the cache. `object` is the last known state of a deleted object. */
export interface InformerChange<T = KubernetesObject> {
  readonly type: "added" | "modified" | "deleted";
  readonly object: T;
}

export interface InformerOptions<K extends KindRef = KindRef> extends Detail {
  readonly store: ClusterStore;
  readonly kind: K;
  readonly namespace?: string;
  readonly fields?: FieldSelector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger?: Logger;
  /** Longest pause after errors; the first is about a second. @default 30000 */
  readonly maxBackoffMs?: number;
  readonly observer?: InformerObserver;
}

/** A cache of one kind: lists, watches, and relists when the watch is overrun. */
export interface Informer<T = KubernetesObject> {
  /** Known objects, unordered and shared: don't modify. */
  items(): readonly T[];
  get(name: string, namespace?: string): T | null;
  /** Calls back in order, starting with known objects (as added). Returns a function that unsubscribes. */
  onChange(listener: (change: InformerChange<T>) => void): () => void;
  readonly isSynced: boolean;
  /** Resolves after the first full list. Rejects if stopped before, or with the signal's reason. */
  synced(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

const FIRST_BACKOFF_MS = 1_000;

/** Starts an informer. Errors only cause retries with growing pauses. */
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
  /** Version to watch from. Null: list first. */
  #version: string | null = null;
  #failures = 0;
  #triedAtMs = 0;

  constructor(options: InformerOptions<K>) {
    this.#options = options;
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
    // Prevents a tight loop if the server ends each watch at once.
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

  /** Listeners' errors don't affect the cache or other listeners. */
  #call(listener: (change: InformerChange<ObjectOf<K>>) => void, change: InformerChange<ObjectOf<K>>): void {
    try {
      listener(change);
    } catch (error) {
      this.#options.logger?.error("informer listener failed", { kind: this.#options.kind.kind, error });
    }
  }

  /** Relists at once after an overrun, unless just tried. Pauses after other errors. */
  async #recover(error: unknown): Promise<void> {
    const { store, clock, random, logger, kind, maxBackoffMs = 30_000 } = this.#options;
    const observer = this.#options.observer ?? store.informerObserver;
    const expired = isStoreError(error, "expired");
    if (expired) this.#version = null;
    observer?.restarted?.(kind.kind, error instanceof StoreError ? error.code : "other");
    // Failures before a long success don't count.
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
