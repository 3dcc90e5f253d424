// Services, their EndpointSlices and DestinationRules, followed on every replica: the webhook must answer
// without asking anybody.
import { createInformer, keyOf, KINDS, serviceOfSlice, trimmedSlice } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import { definedOf, looseFields } from "@isochrone/primitives";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { trimmedRule } from "./objects/destination-rule.ts";

interface FollowerOptions {
  readonly store: ClusterStore;
  /** Whether DestinationRules are followed: their kind must be there. */
  readonly followsRules: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ServiceFollower implements Service {
  readonly #options: FollowerOptions;
  /** By Service, then by slice. */
  readonly #slices = new Map<string, Map<string, KubernetesObject>>();
  #informers: { services: Informer; slices: Informer; rules: Informer | null } | null = null;
  #isSynced = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { followsRules, ...around } = this.#options;
    const services = createInformer({ ...around, kind: KINDS.service, trim: trimmedService });
    const slices: Informer = createInformer({ ...around, kind: KINDS.endpointSlice, trim: trimmedSlice });
    const rules: Informer | null = followsRules
      ? createInformer({ ...around, kind: KINDS.destinationRule, trim: trimmedRule })
      : null;
    slices.onChange(({ type, object }) => this.#take(object, type === "deleted"));
    this.#informers = { services, slices, rules };
    Promise.all([services.synced(), slices.synced(), rules?.synced()]).then(
      () => (this.#isSynced = true),
      () => undefined,
    );
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const { services, slices, rules } = this.#informers ?? {};
    await Promise.all([services?.stop(), slices?.stop(), rules?.stop()]);
  }

  /** Whether all was listed at least once. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  services(): readonly KubernetesObject[] {
    return this.#informers?.services.items() ?? [];
  }

  /** Those of a Service, by name. */
  slices(namespace: string, service: string): KubernetesObject[] {
    const found = [...(this.#slices.get(`${namespace}/${service}`)?.values() ?? [])];
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** All that are of a Service, each with the Service's namespace/name. */
  *allSlices(): Generator<readonly [service: string, slice: KubernetesObject]> {
    for (const [service, slices] of this.#slices) for (const slice of slices.values()) yield [service, slice];
  }

  rules(): readonly KubernetesObject[] {
    return this.#informers?.rules?.items() ?? [];
  }

  #take(slice: KubernetesObject, isGone: boolean): void {
    const name = serviceOfSlice(slice);
    if (name === null) return;
    const service = `${slice.metadata.namespace ?? "default"}/${name}`;
    let slices = this.#slices.get(service);
    if (isGone) {
      slices?.delete(keyOf(slice));
      if (slices?.size === 0) this.#slices.delete(service);
      return;
    }
    if (slices === undefined) this.#slices.set(service, (slices = new Map()));
    slices.set(keyOf(slice), slice);
  }
}

/** What is kept of a Service. */
function trimmedService({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, annotations } = metadata;
  const { clusterIP, type, internalTrafficPolicy } = looseFields(spec);
  return {
    apiVersion,
    kind,
    metadata: { name, ...definedOf({ namespace, uid, resourceVersion, annotations }) },
    spec: definedOf({ clusterIP, type, internalTrafficPolicy }),
  };
}
