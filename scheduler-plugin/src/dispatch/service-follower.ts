// Follows Services, EndpointSlices and DestinationRules on every replica, because the webhook must answer
// without a request.
import { createInformer, keyOf, KINDS, serviceOfSlice, trimmedSlice } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import { definedOf, looseFields } from "@isochrone/primitives";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { trimmedRule } from "./objects/destination-rule.ts";

interface FollowerOptions {
  readonly store: ClusterStore;
  readonly followsRules: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ServiceFollower implements Service {
  readonly #options: FollowerOptions;
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

  get isSynced(): boolean {
    return this.#isSynced;
  }

  services(): readonly KubernetesObject[] {
    return this.#informers?.services.items() ?? [];
  }

  slices(namespace: string, service: string): KubernetesObject[] {
    const found = [...(this.#slices.get(`${namespace}/${service}`)?.values() ?? [])];
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

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
