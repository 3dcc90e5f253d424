import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { periodic, type Clock, type Periodic, type Service } from "@isochrone/runtime";
import { isUnavailable } from "./unavailable.ts";

export interface PolledObjectOptions<T> {
  readonly object: Parameters<ClusterStore["get"]>[0];
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** What is read of it, once for each of its versions. */
  readonly read: (object: KubernetesObject) => T;
  /** What is read where there is none. */
  readonly none: T;
  /** Its kind isn't there, or we may not read it: there is none. */
  readonly onUnavailable: (error: unknown) => void;
  /** The API server can't be asked: what was read last stays. */
  readonly onError: (error: unknown) => void;
}

/** One small object, read again and again: a watch would not make that cheaper. */
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

  /** Whether it was asked for once with an answer: a graph before that would lack what it says. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** One look. Rejects with StoreErrors of the way. */
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
