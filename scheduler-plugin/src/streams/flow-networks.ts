// Usable links, from all FlowNetworks or measured without any, and the AppGroups' floors on them.
import { createInformer, isStoreError, KINDS, timestamp, withConditions } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type {
  ClusterStore,
  EventRecorder,
  Informer,
  InformerChange,
  KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { FlowLink, FlowNetwork, PathTable } from "@isochrone/streams";
import type { ClusterGraph } from "@isochrone/topology";
import { isDeepStrictEqual } from "node:util";
import { AppGroupFloors, type FloorFlow } from "./app-group-floors.ts";
import { admitted, beside, routed, type AdmittedFloors } from "./domain/floors.ts";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import { measuredLinks, NetworkKeeper, readNetwork, type ReadNetwork } from "./domain/links.ts";
import { FloorNews } from "./floor-news.ts";
import type { StreamMetrics } from "./metrics.ts";

interface FlowNetworksOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: Pick<EventRecorder, "event">;
  readonly metrics: StreamMetrics;
  readonly onChange: () => void;
}

const MAX_NAMED = 5;

export class FlowNetworks {
  readonly #options: FlowNetworksOptions;
  readonly #informer: Informer;
  readonly #whole = new NetworkKeeper();
  readonly #keeper = new NetworkKeeper();
  readonly #read = new Map<string, ReadNetwork>();
  #capacities: ReadonlyMap<string, number> = new Map();
  readonly #floors: AppGroupFloors;
  readonly #news: FloorNews;
  #declared: readonly FloorFlow[] = [];
  #admitted: AdmittedFloors = { floors: [], cut: [] };
  #isSynced = false;

  constructor(options: FlowNetworksOptions) {
    const { onChange, ...informed } = options;
    this.#options = options;
    this.#floors = new AppGroupFloors(informed);
    this.#news = new FloorNews(options);
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

  /** Admitted floors on shortest paths, which the kernel presumably uses. */
  get floors(): readonly AddressedFlow[] {
    return this.#admitted.floors;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#informer.stop(), this.#floors.stop()]);
    this.#news.close();
  }

  takePod(change: InformerChange): void {
    this.#floors.takePod(change);
  }

  update(nodes: readonly string[], graph: ClusterGraph | null): boolean {
    const names = new Set(nodes);
    const taken = new Set<string>();
    this.#read.clear();
    const objects = this.#informer.items().toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    for (const { metadata, spec } of objects) this.#read.set(metadata.name, readNetwork(spec, names, taken));
    const links =
      objects.length > 0
        ? [...this.#read.values()].flatMap(({ links: declared }) => declared)
        : measuredLinks(graph, nodes);
    const isOther = this.#whole.update(nodes, links);
    const floors = this.#floors.floors();
    if (!isOther && floors === this.#declared) return false;
    this.#declared = floors;
    this.#capacities = capacitiesOf(links);
    this.#admitted = admitted(routed(floors, this.#whole), links);
    return this.#keeper.update(nodes, beside(links, this.#admitted.floors));
  }

  /** Bit/s to the next node; null if unknown. */
  capacityOf(source: string, target: string): number | null {
    return this.#capacities.get(`${source} ${target}`) ?? null;
  }

  /**
   * Writes FlowNetwork statuses and reports cut floors. Never rejects.
   * @param withoutPlace flows in no plan
   */
  async tell(nowMs: number, withoutPlace: readonly AddressedFlow[]): Promise<void> {
    this.#news.tell({ groups: this.#floors.groups(), cut: this.#admitted.cut, withoutPlace });
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
