import { isStoreError, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { looseFields } from "@isochrone/primitives";
import { endpointsOf } from "../controllers/endpoints.ts";
import type { ServiceEndpoints } from "../controllers/endpoints.ts";
import { Reconciler } from "../reconciler.ts";

interface SliceControllerOptions {
  readonly store: ClusterStore;
  readonly services: Informer;
  readonly pods: Informer;
  readonly zoneOf: (node: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NEAR = new Set(["PreferSameZone", "PreferClose"]);

/**
 * Stand-in for the EndpointSlice controller: one slice of ready pods per Service. Each write sets hints by
 * `trafficDistribution` or none; others must reapply theirs.
 */
export class EndpointSliceController {
  readonly #options: SliceControllerOptions;
  readonly #reconciler: Reconciler;
  /** Last write by slice; others' hints don't count as a difference. */
  readonly #written = new Map<string, string>();
  readonly #addresses = new Map<string, string>();

  constructor(options: SliceControllerOptions) {
    this.#options = options;
    const { clock, logger, services, pods } = options;
    this.#reconciler = new Reconciler({
      name: "endpoint slices",
      reconcile: () => this.#reconcile(),
      clock,
      logger,
    });
    for (const informer of [services, pods]) informer.onChange(() => this.#reconciler.trigger());
  }

  start(): void {
    this.#reconciler.start();
  }

  stop(): Promise<void> {
    return this.#reconciler.stop();
  }

  async #reconcile(): Promise<void> {
    const services = this.#options.services.items();
    for (const [at, endpoints] of endpointsOf(services, this.#options.pods.items()).entries())
      await this.#write(this.#sliceOf(services[at]!, endpoints));
  }

  async #write(slice: KubernetesObject): Promise<void> {
    const { store } = this.#options;
    const { namespace = "default", name } = slice.metadata;
    const text = JSON.stringify(slice.endpoints);
    if (this.#written.get(`${namespace}/${name}`) === text) return;
    const before = await store.get({ ...KINDS.endpointSlice, namespace, name });
    try {
      if (before === null) await store.create(slice);
      else await store.update({ ...before, endpoints: slice.endpoints });
    } catch (error) {
      if (!isStoreError(error, "conflict") && !isStoreError(error, "already_exists")) throw error;
      return this.#reconciler.trigger();
    }
    this.#written.set(`${namespace}/${name}`, text);
  }

  #sliceOf(service: KubernetesObject, { namespace, endpoints }: ServiceEndpoints): KubernetesObject {
    const { name } = service.metadata;
    const { trafficDistribution } = looseFields<{ trafficDistribution: string }>(service.spec);
    const isNear = typeof trafficDistribution === "string" && NEAR.has(trafficDistribution);
    return {
      ...KINDS.endpointSlice,
      metadata: {
        namespace,
        name: `${name}-1`,
        labels: {
          "kubernetes.io/service-name": name,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
      },
      addressType: "IPv4",
      endpoints: endpoints.map(({ node, identity: { pod } }) => {
        const zone = this.#options.zoneOf(node);
        return {
          addresses: [this.#addressOf(`${namespace}/${pod}`)],
          conditions: { ready: true, serving: true, terminating: false },
          nodeName: node,
          zone,
          targetRef: { kind: "Pod", namespace, name: pod },
          ...(isNear ? { hints: { forZones: [{ name: zone }] } } : {}),
        };
      }),
    };
  }

  #addressOf(pod: string): string {
    let address = this.#addresses.get(pod);
    if (address === undefined) {
      const number = this.#addresses.size + 1;
      address = `10.244.${Math.floor(number / 250)}.${(number % 250) + 1}`;
      this.#addresses.set(pod, address);
    }
    return address;
  }
}
