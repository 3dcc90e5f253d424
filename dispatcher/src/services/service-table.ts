// The Services that ask for the dispatcher, with who serves them now.
import { createInformer, isOwnSlice, keyOf, KINDS, serviceOfSlice } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { addressesOf } from "../domain/slices.ts";
import type { EndpointSliceView } from "../ports/ports.ts";
import { ServicePort, type Endpoint } from "./endpoint.ts";
import {
  dispatchedService,
  keptOfService,
  keptOfSlice,
  sliceView,
  type DispatchedService,
} from "./objects.ts";

interface ServiceTableOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** An endpoint's slice has it no more. */
  readonly onGone: (endpoint: Endpoint) => void;
}

/** A Service that requests are sent for. */
export interface ServiceEntry {
  /** namespace/name */
  readonly name: string;
  readonly order: DispatchedService;
  readonly ports: ReadonlyMap<number, ServicePort>;
}

export class ServiceTable implements Service {
  readonly #options: ServiceTableOptions;
  readonly #entries = new Map<string, ServiceEntry>();
  /** By Service, then by slice. */
  readonly #slices = new Map<string, Map<string, EndpointSliceView>>();
  #informers: readonly Informer[] = [];
  #isSynced = false;

  constructor(options: ServiceTableOptions) {
    this.#options = options;
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
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Whether all was listed at least once. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get(name: string): ServiceEntry | null {
    return this.#entries.get(name) ?? null;
  }

  entries(): IterableIterator<ServiceEntry> {
    return this.#entries.values();
  }

  #takeService(service: KubernetesObject, isGone: boolean): void {
    const name = nameOf(service.metadata.namespace, service.metadata.name);
    const before = this.#entries.get(name);
    const order = isGone ? null : dispatchedService(service);
    if (order === null) {
      for (const port of before?.ports.values() ?? []) this.#gone(port.take([]));
      this.#entries.delete(name);
      return;
    }
    for (const fault of order.faults)
      if (before?.order.faults.includes(fault) !== true)
        this.#options.logger.warn("an annotation of a Service is passed over", { service: name, fault });
    const ports = portsOf(order, before);
    for (const [number, port] of before?.ports ?? [])
      if (ports.get(number) !== port) this.#gone(port.take([]));
    const entry = { name, order, ports };
    this.#entries.set(name, entry);
    this.#takeEndpoints(entry);
  }

  /** Slices of others than Kubernetes' own controller could name addresses that aren't the Service's. */
  #takeSlice(slice: KubernetesObject, isGone: boolean): void {
    const of = serviceOfSlice(slice);
    if (of === null) return;
    const name = nameOf(slice.metadata.namespace, of);
    const slices = this.#slices.get(name) ?? new Map<string, EndpointSliceView>();
    if (isGone || !isOwnSlice(slice)) slices.delete(keyOf(slice));
    else slices.set(keyOf(slice), sliceView(slice));
    if (slices.size === 0) this.#slices.delete(name);
    else this.#slices.set(name, slices);
    const entry = this.#entries.get(name);
    if (entry !== undefined) this.#takeEndpoints(entry);
  }

  #takeEndpoints({ name, order, ports }: ServiceEntry): void {
    const slices = [...(this.#slices.get(name)?.values() ?? [])];
    for (const [number, port] of ports)
      this.#gone(port.take(addressesOf(slices, order.ports.get(number)!.name)));
  }

  #gone(endpoints: readonly Endpoint[]): void {
    for (const endpoint of endpoints) this.#options.onGone(endpoint);
  }
}

/** Ports that are as before keep what is known of their endpoints. */
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

function nameOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? "default"}/${name}`;
}
