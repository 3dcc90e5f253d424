// Finds the other replicas through the EndpointSlices of their Service.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import { isList, looseFields, looseList } from "@isochrone/primitives";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";

export interface PeerAddress {
  /** Pod name; the address if the slice names no pod. */
  readonly name: string;
  readonly url: string;
}

interface PeerAddressesOptions {
  readonly store: ClusterStore;
  readonly namespace: string;
  readonly service: string;
  readonly replica: string;
  readonly scheme: "http" | "https";
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const SERVICE_LABEL = "kubernetes.io/service-name";
/** Port name in the Service; a single port may have any name. */
const PORT_NAME = "extender";
const MAX_PEERS = 16;

interface Endpoint {
  readonly addresses: unknown;
  readonly conditions: unknown;
  readonly targetRef: unknown;
}

export class PeerAddresses implements Service {
  readonly #options: PeerAddressesOptions;
  #informer: Informer | null = null;
  #isSynced = false;

  constructor(options: PeerAddressesOptions) {
    this.#options = options;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  start(): Promise<void> {
    this.#informer = createInformer({ ...this.#options, kind: KINDS.endpointSlice });
    this.#informer.synced().then(
      () => (this.#isSynced = true),
      () => undefined,
    );
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  peers(): readonly PeerAddress[] {
    const { service } = this.#options;
    const found = new Map<string, PeerAddress>();
    for (const slice of this.#informer?.items() ?? []) {
      if (slice.metadata.labels?.[SERVICE_LABEL] !== service) continue;
      for (const peer of this.#peersIn(slice)) found.set(peer.name, peer);
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_PEERS);
  }

  #peersIn(slice: KubernetesObject): PeerAddress[] {
    const { replica, scheme } = this.#options;
    const port = portOf(slice);
    if (port === null) return [];
    return looseList<Endpoint>(slice.endpoints).flatMap(({ addresses, conditions, targetRef }) => {
      const [address] = isList(addresses) ? addresses : [];
      const name = looseFields<Record<"name", unknown>>(targetRef).name ?? address;
      const { ready, serving } = looseFields<Record<"ready" | "serving", unknown>>(conditions);
      if (typeof address !== "string" || typeof name !== "string" || name === replica) return [];
      if (ready === false && serving !== true) return [];
      const url = `${scheme}://${address.includes(":") ? `[${address}]` : address}:${port}`;
      return URL.canParse(url) ? [{ name, url }] : [];
    });
  }
}

function portOf(slice: KubernetesObject): number | null {
  const ports = looseList<{ readonly name: unknown; readonly port: unknown }>(slice.ports);
  const port = (ports.find(({ name }) => name === PORT_NAME) ?? (ports.length === 1 ? ports[0] : undefined))
    ?.port;
  return typeof port === "number" ? port : null;
}
