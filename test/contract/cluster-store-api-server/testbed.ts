import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { Informer, KubernetesObject } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type {
  ApiServerClusterStore,
  ApiServerObserver,
  ApiServerStoreOptions,
  InformerOptions,
} from "@isochrone/kubernetes/testing";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { vi } from "vitest";

/** Records the state of a store's connection to the API server. */
export class Observed implements ApiServerObserver {
  readonly requests: { verb: string; kind: string; code: number }[] = [];
  readonly renewals: string[] = [];

  requested(request: { verb: string; kind: string; code: number }): void {
    this.requests.push(request);
  }

  watchRenewed(kind: string, reason: string): void {
    this.renewals.push(`${kind} ${reason}`);
  }

  count(verb: string, code?: number): number {
    return this.requests.filter((one) => one.verb === verb && (code ?? one.code) === one.code).length;
  }
}

export class Testbed {
  readonly logger = new MemoryLogger({ clock: systemClock });
  readonly #stores: ApiServerClusterStore[] = [];
  readonly #informers: Informer[] = [];

  store(
    credentials: ApiServerStoreOptions["credentials"],
    options: Partial<ApiServerStoreOptions> = {},
  ): ApiServerClusterStore {
    const store = createApiServerStore({
      credentials,
      clock: systemClock,
      random: seededRandom(1),
      logger: this.logger,
      qps: 1_000,
      burst: 1_000,
      ...options,
    });
    this.#stores.push(store);
    return store;
  }

  informer(store: ApiServerClusterStore, options: Partial<InformerOptions> = {}): Informer {
    const informer = createInformer({
      store,
      kind: KINDS.node,
      clock: systemClock,
      random: seededRandom(2),
      logger: this.logger,
      maxBackoffMs: 2_000,
      ...options,
    });
    this.#informers.push(informer);
    return informer;
  }

  async clear(): Promise<void> {
    for (const store of this.#stores.splice(0)) store.close();
    for (const informer of this.#informers.splice(0)) await informer.stop();
  }
}

export const names = (informer: Informer): string[] =>
  informer
    .items()
    .map(({ metadata }) => metadata.name)
    .toSorted();

export const node = (name: string): KubernetesObject => ({ ...KINDS.node, metadata: { name } });
export const nodeRef = (name: string) => ({ ...KINDS.node, name });

export function soon(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 });
}
