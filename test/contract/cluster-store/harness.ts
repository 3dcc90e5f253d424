import { KINDS } from "@isochrone/kubernetes";
import type {
  ClusterStore,
  Detail,
  KindRef,
  KubernetesObject,
  ObjectMeta,
  ObjectRef,
} from "@isochrone/kubernetes";
import type { FieldSelector, WatchEvent } from "@isochrone/kubernetes/testing";
import { afterEach, beforeEach, vi } from "vitest";

interface StoreUnderTest {
  readonly store: ClusterStore;
  /** Lets time pass until bookmarks are due. Undefined if the test can't trigger them. */
  readonly pass?: (ms: number) => Promise<void>;
  /** Makes the store drop its oldest changes. Undefined if the test can't. */
  readonly overrun?: () => Promise<void>;
  dispose(): Promise<void>;
}

export interface StoreContract {
  /** Returns a store with namespace "default" and no objects of the contract's kinds. */
  readonly create: () => Promise<StoreUnderTest>;
  /** Whether a controller-manager runs, which would also act on everything else. @default true */
  readonly collectsGarbage?: boolean;
}

interface Followed {
  readonly events: WatchEvent[];
  readonly done: Promise<void>;
  texts(): string[];
}

const PATIENCE_MS = 5_000;

/** The store of the current test, created anew for each, and shared helpers. */
export class StoreHarness {
  #under: StoreUnderTest | null = null;
  #end = new AbortController();

  readonly collectsGarbage: boolean;

  constructor({ create, collectsGarbage = true }: StoreContract) {
    this.collectsGarbage = collectsGarbage;
    beforeEach(async () => {
      this.#under = await create();
      this.#end = new AbortController();
    });
    afterEach(async () => {
      this.#end.abort();
      await this.#under?.dispose();
    });
  }

  get store(): ClusterStore {
    return this.#under!.store;
  }

  get pass(): StoreUnderTest["pass"] {
    return this.#under!.pass;
  }

  get overrun(): StoreUnderTest["overrun"] {
    return this.#under!.overrun;
  }

  endWatches(): void {
    this.#end.abort();
  }

  waitFor(check: () => void | Promise<void>): Promise<void> {
    return vi.waitFor(check, { timeout: PATIENCE_MS, interval: 5 });
  }

  follow(
    kind: KindRef,
    resourceVersion: string,
    namespace?: string,
    options: Detail & { readonly fields?: FieldSelector } = {},
  ): Followed {
    const events: WatchEvent[] = [];
    const where = namespace === undefined ? options : { ...options, namespace };
    const { signal } = this.#end;
    const done = (async () => {
      for await (const event of this.store.watch(kind, { resourceVersion, signal, ...where }))
        events.push(event);
    })();
    done.catch(() => undefined);
    const texts = (): string[] =>
      events.map((event) =>
        event.type === "bookmark" ? "bookmark" : `${event.type} ${event.object.metadata.name}`,
      );
    return { events, done, texts };
  }
}

export function object(kind: KindRef, name: string, rest: Partial<KubernetesObject> = {}): KubernetesObject {
  return { ...kind, metadata: { name }, ...rest };
}

export const node = (name: string, rest: Partial<KubernetesObject> = {}): KubernetesObject =>
  object(KINDS.node, name, rest);

export const pod = (
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Partial<ObjectMeta> = {},
): KubernetesObject => ({
  ...object(KINDS.pod, name),
  metadata: { name, namespace: "default", ...metadata },
  spec: { containers: [{ name: "main", image: "pause" }], ...spec },
});

export const podRef = (name: string): ObjectRef => ({ ...KINDS.pod, namespace: "default", name });
export const nodeRef = (name: string): ObjectRef => ({ ...KINDS.node, name });

export const deployment = (name: string, podSpec: Record<string, unknown> = {}): KubernetesObject => ({
  ...object(KINDS.deployment, name),
  metadata: { name, namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "main", image: "pause" }], ...podSpec },
    },
  },
});

export const deploymentRef = (name: string): ObjectRef => ({
  ...KINDS.deployment,
  namespace: "default",
  name,
});
