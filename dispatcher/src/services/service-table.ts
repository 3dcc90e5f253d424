// Opted-in Services with their current endpoints.
import { createInformer, keyOf, KINDS, serviceOfSlice } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import {
  ENDPOINT_REFUSALS,
  MAX_ENDPOINTS,
  endpointRefusal,
  selects,
  type EndpointRefusal,
  type PodView,
} from "../domain/pods.ts";
import { addressesOf, type PodSlice } from "../domain/slices.ts";
import type { EndpointSliceView } from "../ports/ports.ts";
import { ServicePort, type Endpoint } from "./endpoint.ts";
import {
  dispatchedService,
  keptOfService,
  keptOfSlice,
  sliceView,
  type DispatchedService,
} from "./objects.ts";
import { PodTable } from "./pod-table.ts";

interface ServiceTableOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onGone: (endpoint: Endpoint) => void;
}

export interface ServiceEntry {
  readonly name: string;
  readonly namespace: string;
  readonly order: DispatchedService;
  readonly ports: ReadonlyMap<number, ServicePort>;
  /** Slice endpoints that aren't its pods, by reason. */
  refused: Readonly<Partial<Record<EndpointRefusal, number>>>;
}

export class ServiceTable implements Service {
  readonly #options: ServiceTableOptions;
  readonly #entries = new Map<string, ServiceEntry>();
  readonly #slices = new Map<string, Map<string, EndpointSliceView>>();
  readonly #pods: PodTable;
  #informers: readonly Informer[] = [];
  #isSynced = false;

  constructor(options: ServiceTableOptions) {
    this.#options = options;
    this.#pods = new PodTable({ ...options, onChange: (...change) => this.#takePod(...change) });
  }

  start(): Promise<void> {
    const services: Informer = createInformer({ ...this.#options, kind: KINDS.service, trim: keptOfService });
    const slices: Informer = createInformer({
      ...this.#options,
      kind: KINDS.endpointSlice,
      trim: keptOfSlice,
    });
    services.onChange(({ type, object }) => this.#takeService(object, type === "deleted"));
    slices.onChange(({ type, object }) => this.#takeSlice(object, type === "deleted"));
    this.#informers = [services, slices];
    Promise.all([services.synced(), slices.synced()]).then(
      () => (this.#isSynced = true),
      () => undefined,
    );
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers, this.#pods].map((each) => each.stop()));
  }

  get isSynced(): boolean {
    return this.#isSynced && this.#pods.isSynced;
  }

  get(name: string): ServiceEntry | null {
    return this.#entries.get(name) ?? null;
  }

  entries(): IterableIterator<ServiceEntry> {
    return this.#entries.values();
  }

  refusedEndpoints(): (readonly [labels: { readonly reason: EndpointRefusal }, count: number])[] {
    const entries = [...this.#entries.values()];
    return ENDPOINT_REFUSALS.map((reason) => [
      { reason },
      entries.reduce((sum, { refused }) => sum + (refused[reason] ?? 0), 0),
    ]);
  }

  #takeService(service: KubernetesObject, isGone: boolean): void {
    const { namespace = DEFAULT_NAMESPACE } = service.metadata;
    const name = nameOf(namespace, service.metadata.name);
    const before = this.#entries.get(name);
    const order = isGone ? null : dispatchedService(service);
    if (order === null) {
      for (const port of before?.ports.values() ?? []) this.#gone(port.take([]));
      if (this.#entries.delete(name)) this.#pods.unfollow(namespace);
      return;
    }
    const known = before?.order.faults ?? [];
    for (const fault of order.faults.filter((one) => !known.includes(one)))
      this.#options.logger.warn("an annotation of a Service is passed over", { service: name, fault });
    this.#takeOrder({ name, namespace, order, ports: portsOf(order, before), refused: {} }, before);
  }

  #takeOrder(entry: ServiceEntry, before: ServiceEntry | undefined): void {
    const { name, namespace, ports } = entry;
    for (const [number, port] of before?.ports ?? [])
      if (ports.get(number) !== port) this.#gone(port.take([]));
    this.#entries.set(name, entry);
    if (before === undefined) this.#pods.follow(namespace);
    this.#takeEndpoints(entry);
  }

  #takeSlice(slice: KubernetesObject, isGone: boolean): void {
    const of = serviceOfSlice(slice);
    if (of === null) return;
    const name = nameOf(slice.metadata.namespace, of);
    const slices = this.#slices.get(name) ?? new Map<string, EndpointSliceView>();
    if (isGone) slices.delete(keyOf(slice));
    else slices.set(keyOf(slice), sliceView(slice));
    if (slices.size === 0) this.#slices.delete(name);
    else this.#slices.set(name, slices);
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#takeEndpoints(entry);
  }

  #takePod(namespace: string, before: PodView | null, after: PodView | null): void {
    for (const entry of this.#entries.values()) {
      if (entry.namespace !== namespace) continue;
      const { selector } = entry.order;
      if (selector === null) continue;
      if ([before, after].some((pod) => pod !== null && selects(selector, pod))) this.#takeEndpoints(entry);
    }
  }

  #takeEndpoints(entry: ServiceEntry): void {
    const slices = this.#podSlicesOf(entry);
    for (const [number, port] of entry.ports)
      this.#gone(port.take(addressesOf(slices, entry.order.ports.get(number)!.name)));
  }

  #podSlicesOf(entry: ServiceEntry): PodSlice[] {
    const { name, namespace, order } = entry;
    const refused: Partial<Record<EndpointRefusal, number>> = {};
    let taken = 0;
    const slices = [...(this.#slices.get(name)?.values() ?? [])].map((slice) => ({
      ...slice,
      endpoints: slice.endpoints.flatMap((endpoint) => {
        const pod = endpoint.pod === null ? null : this.#pods.get(namespace, endpoint.pod);
        const isFull = taken >= MAX_ENDPOINTS;
        const reason = endpointRefusal(endpoint, order.selector, pod) ?? (isFull ? "too_many" : null);
        if (reason === null) taken++;
        if (reason !== null) refused[reason] = (refused[reason] ?? 0) + 1;
        return reason === null && pod !== null ? [{ ...endpoint, uid: pod.uid, node: pod.node }] : [];
      }),
    }));
    entry.refused = refused;
    return slices;
  }

  #gone(endpoints: readonly Endpoint[]): void {
    for (const endpoint of endpoints) this.#options.onGone(endpoint);
  }
}

function portsOf(order: DispatchedService, before: ServiceEntry | undefined): Map<number, ServicePort> {
  const ports = new Map<number, ServicePort>();
  for (const [number, { name, speaks }] of order.ports) {
    const said = before?.order.ports.get(number);
    const known = before?.ports.get(number);
    const isSame = said?.name === name && said.speaks === speaks;
    ports.set(number, isSame && known !== undefined ? known : new ServicePort(speaks));
  }
  return ports;
}

const DEFAULT_NAMESPACE = "default";

function nameOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? DEFAULT_NAMESPACE}/${name}`;
}
