// The links that flows may use: those of all FlowNetworks, or without any FlowNetwork what was measured.
import { createInformer, isStoreError, KINDS, timestamp, withConditions } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { FlowLink, FlowNetwork, PathTable } from "@isochrone/streams";
import type { ClusterGraph } from "@isochrone/topology";
import { isDeepStrictEqual } from "node:util";
import type { FloorFlow } from "./app-group-floors.ts";
import { beside, routed } from "./domain/floors.ts";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import { measuredLinks, NetworkKeeper, readNetwork, type ReadNetwork } from "./domain/links.ts";

interface FlowNetworksOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onChange: () => void;
}

/** Of the links that don't count, so many are named. */
const MAX_NAMED = 5;

export class FlowNetworks {
  readonly #options: FlowNetworksOptions;
  readonly #informer: Informer;
  /** All links. */
  readonly #whole = new NetworkKeeper();
  /** With what floors leave for stream jobs. */
  readonly #keeper = new NetworkKeeper();
  readonly #read = new Map<string, ReadNetwork>();
  #capacities: ReadonlyMap<string, number> = new Map();
  #routedFloors: readonly AddressedFlow[] = [];
  #isSynced = false;

  constructor(options: FlowNetworksOptions) {
    const { onChange, ...informed } = options;
    this.#options = options;
    this.#informer = createInformer({ ...informed, kind: KINDS.flowNetwork });
    this.#informer.onChange(onChange);
    this.#informer.synced().then(
      () => this.#listed(),
      () => undefined,
    );
  }

  #listed(): void {
    this.#isSynced = true;
    this.#options.onChange();
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get network(): FlowNetwork {
    return this.#keeper.network;
  }

  get paths(): PathTable {
    return this.#keeper.paths;
  }

  /** Floors on the paths that the kernel is taken to use: the shortest. */
  get routedFloors(): readonly AddressedFlow[] {
    return this.#routedFloors;
  }

  async stop(): Promise<void> {
    await this.#informer.stop();
  }

  /** Returns whether nodes, links or what floors leave of them are others than before. */
  update(nodes: readonly string[], graph: ClusterGraph | null, floors: readonly FloorFlow[]): boolean {
    const names = new Set(nodes);
    const taken = new Set<string>();
    this.#read.clear();
    const objects = this.#informer.items().toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    for (const { metadata, spec } of objects) this.#read.set(metadata.name, readNetwork(spec, names, taken));
    const links =
      objects.length > 0
        ? [...this.#read.values()].flatMap(({ links: declared }) => declared)
        : measuredLinks(graph, nodes);
    if (this.#whole.update(nodes, links)) this.#capacities = capacitiesOf(links);
    this.#routedFloors = routed(floors, this.#whole);
    return this.#keeper.update(nodes, beside(links, this.#routedFloors));
  }

  /** Bits per second from one node to the next; null: unknown. */
  capacityOf(source: string, target: string): number | null {
    return this.#capacities.get(`${source} ${target}`) ?? null;
  }

  /** Says in each FlowNetwork what counts of it. Never rejects. */
  async tell(nowMs: number): Promise<void> {
    for (const object of this.#informer.items()) {
      const read = this.#read.get(object.metadata.name);
      if (read !== undefined) await this.#tellOne(object, read, nowMs);
    }
  }

  async #tellOne(object: KubernetesObject, read: ReadNetwork, nowMs: number): Promise<void> {
    const { store, logger } = this.#options;
    const status = statusOf(object, read, nowMs);
    if (isDeepStrictEqual(status, looseFields(object.status))) return;
    try {
      const ref = { ...KINDS.flowNetwork, name: object.metadata.name };
      await store.patch(ref, { status }, { subresource: "status" });
    } catch (error) {
      if (isStoreError(error, "not_found")) return;
      logger.warnOnce("streams:network", "the status of a FlowNetwork is not written, trying again", {
        error,
      });
    }
  }
}

function capacitiesOf(links: readonly FlowLink[]): Map<string, number> {
  const capacities = new Map<string, number>();
  for (const { source, target, capacityBitsPerSecond, duplex } of links) {
    capacities.set(`${source} ${target}`, capacityBitsPerSecond);
    if (duplex !== "simplex") capacities.set(`${target} ${source}`, capacityBitsPerSecond);
  }
  return capacities;
}

function statusOf(
  object: KubernetesObject,
  { links, refused }: ReadNetwork,
  nowMs: number,
): Record<string, unknown> {
  const { generation } = object.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const named = refused.slice(0, MAX_NAMED).join("; ");
  const accepted =
    refused.length === 0
      ? { status: "True", reason: "Accepted", message: "all links count" }
      : { status: "False", reason: "LinksRefused", message: `${refused.length} links don't count: ${named}` };
  return {
    ...observed,
    links: links.length,
    refused: refused.length,
    conditions: withConditions(object, [{ type: "Accepted", ...accepted, ...observed }], timestamp(nowMs)),
  };
}
