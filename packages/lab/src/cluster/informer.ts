import { isStoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KindRef, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { keyOf } from "./objects.ts";

const RETRY_MS = 1_000;

/** A copy of all objects of one kind that follows the store. The objects are shared: readers must not change them. */
export class Informer {
  readonly #store: ClusterStore;
  readonly #kind: KindRef;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners: (() => void)[] = [];
  #objects = new Map<string, KubernetesObject>();

  constructor(options: { store: ClusterStore; kind: KindRef; clock: Clock; logger: Logger }) {
    this.#store = options.store;
    this.#kind = options.kind;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Called after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  objects(): KubernetesObject[] {
    return [...this.#objects.values()];
  }

  /** Resolves when the first list is there; follows the store until the signal. */
  async start(signal: AbortSignal): Promise<void> {
    const version = await this.#list();
    void this.#follow(version, signal);
  }

  async #list(): Promise<string> {
    const { items, resourceVersion } = await this.#store.list(this.#kind);
    this.#objects = new Map(items.map((object) => [keyOf(object), object]));
    this.#notify();
    return resourceVersion;
  }

  /** Never rejects: a lost watch is begun again with a list. */
  async #follow(from: string, signal: AbortSignal): Promise<void> {
    let resourceVersion: string | null = from;
    while (!signal.aborted) {
      try {
        resourceVersion ??= await this.#list();
        for await (const event of this.#store.watch(this.#kind, { resourceVersion, signal })) {
          if (event.type === "bookmark") continue;
          if (event.type === "deleted") this.#objects.delete(keyOf(event.object));
          else this.#objects.set(keyOf(event.object), event.object);
          this.#notify();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!isStoreError(error, "expired"))
          this.#logger.warnOnce(`watch ${this.#kind.kind}`, "watch failed, listing again", {
            kind: this.#kind.kind,
            error,
          });
      }
      resourceVersion = null;
      await this.#clock.sleep(RETRY_MS, signal).catch(() => {});
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
