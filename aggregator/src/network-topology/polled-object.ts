import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { periodic, type Clock, type Periodic, type Service } from "@isochrone/runtime";
import { isUnavailable } from "./unavailable.ts";

interface PolledObjectOptions<T> {
  readonly object: Parameters<ClusterStore["get"]>[0];
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly read: (object: KubernetesObject) => T;
  readonly none: T;
  /** The CRD is not installed, or read access is denied: treated as absent. */
  readonly onUnavailable: (error: unknown) => void;
  /** The API server is unavailable; the last value stays. */
  readonly onError: (error: unknown) => void;
}

/** Polls one small object, for which a watch would not be cheaper. */
export class PolledObject<T> implements Service {
  readonly #options: PolledObjectOptions<T>;
  readonly #loop: Periodic;
  #current: T;
  #wasRead = false;
  #resourceVersion: string | undefined;

  constructor(options: PolledObjectOptions<T>) {
    const { clock, intervalMs, onError, none } = options;
    this.#options = options;
    this.#current = none;
    this.#loop = periodic({ clock, intervalMs, immediate: true, run: () => this.read(), onError });
  }

  async start(): Promise<void> {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  current(): T {
    return this.#current;
  }

  /** True after the first answer. Before it, a graph would lack the object's content. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  async read(): Promise<void> {
    const { read, none } = this.#options;
    const object = await this.#get();
    this.#wasRead = true;
    const { resourceVersion } = object?.metadata ?? {};
    if (object !== null && resourceVersion !== undefined && resourceVersion === this.#resourceVersion) return;
    this.#resourceVersion = resourceVersion;
    this.#current = object === null ? none : read(object);
  }

  async #get(): Promise<KubernetesObject | null> {
    const { store, object, onUnavailable } = this.#options;
    try {
      return await store.get(object);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      onUnavailable(error);
      return null;
    }
  }
}
