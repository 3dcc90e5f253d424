import { definedOf, looseFields } from "@isochrone/primitives";
import {
  createInformer,
  hasCondition,
  KINDS,
  trimmedReplicaSet,
  trimmedWorkload,
  type ClusterStore,
  type Detail,
  type Informer,
  type InformerChange,
  type KindRef,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { DeclarationRefusal, DeclarationRights } from "@isochrone/topology";
import { declaredBandwidth, trimmedWithAdvertisement } from "../bandwidth-resource/node-status.ts";
import type { ClusterNodes, ClusterState, NamespacedName } from "../domain/cluster-state.ts";
import type { ClusterWatch } from "../ports/ports.ts";
import { ClusterReader, WORKLOAD_KINDS, type ReadKind } from "./cluster-reader.ts";
import type { OnRefusedDeclarations } from "./declared-objects.ts";
import { trimmedDestinationRule } from "./istio-routing.ts";
import { trimmedReplica } from "./replica-detail.ts";
import { trimmedService } from "./service-routing.ts";

/** Kinds that the graphs can't be drawn without. */
const REQUIRED = ["node", "pod", "replicaSet", "deployment"] as const;
/**
 * Kinds whose API may be missing (a CRD), that few clusters use, or that only say how traffic is spread: a
 * failing list of these doesn't hold up readiness.
 */
const OPTIONAL = ["statefulSet", "daemonSet", "appGroup", "service"] as const;
/** Only where a mesh's own rules are asked for. */
const MESH = ["destinationRule"] as const;

/** What is kept of each object: 100,000 whole pods would be a gigabyte. */
const DETAIL: { readonly [K in ReadKind]: Detail } = {
  node: { trim: trimmedWithAdvertisement },
  pod: { trim: trimmedReplica },
  replicaSet: { metadataOnly: true, trim: trimmedReplicaSet },
  deployment: { trim: trimmedWorkload },
  statefulSet: { trim: trimmedWorkload },
  daemonSet: { trim: trimmedWorkload },
  appGroup: {},
  service: { trim: trimmedService },
  destinationRule: { trim: trimmedDestinationRule },
};

/** What a watch needs. */
interface StoreClusterWatchOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Extended resource by which nodes declare the capacity of their network, bit/s.
   * @default they declare none
   */
  readonly bandwidthResource?: string | null;
  /** Istio's DestinationRules say how traffic is spread, too. @default false */
  readonly istioRouting?: boolean;
  /** For which other namespaces objects may declare channels. @default none */
  readonly declarationRights?: DeclarationRights;
  /** Told of objects that declare what is left out, beside the log. */
  readonly onRefusedDeclarations?: OnRefusedDeclarations;
}

/** Follows a ClusterStore by informers, and reads anew only those of its objects that changed. */
export class StoreClusterWatch implements ClusterWatch {
  readonly #options: StoreClusterWatchOptions;
  readonly #informers = new Map<ReadKind, Informer>();
  readonly #synced = new Set<ReadKind>();
  readonly #reader: ClusterReader;
  readonly #podListeners: ((change: InformerChange) => void)[] = [];
  #pods: readonly KubernetesObject[] | null = null;

  constructor(options: StoreClusterWatchOptions) {
    this.#options = options;
    const { declarationRights, onRefusedDeclarations, logger, bandwidthResource = null } = options;
    this.#reader = new ClusterReader({
      source: {
        items: (kind) => this.#items(kind),
        replicaSet: (namespace, name) => this.#informers.get("replicaSet")!.get(name, namespace),
        isComplete: () => this.pending().length === 0,
      },
      networkCapacityOf: (node) =>
        bandwidthResource === null ? null : declaredBandwidth(node, bandwidthResource),
      ...definedOf({ declarationRights }),
      onRefusedDeclarations: (object, refused) => {
        const { kind, metadata } = object;
        const subject = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
        logger.warnOnce(`declared:${subject}`, "declared channels left out", { subject, ...refused });
        onRefusedDeclarations?.(object, refused);
      },
    });
  }

  async start(): Promise<void> {
    const mesh = this.#options.istioRouting === true ? MESH : [];
    for (const kind of [...REQUIRED, ...OPTIONAL, ...mesh]) this.#follow(kind, KINDS[kind]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
  }

  pending(): readonly string[] {
    return REQUIRED.filter((kind) => !this.#synced.has(kind)).map((kind) => KINDS[kind].kind);
  }

  current(): ClusterState {
    return this.#reader.current();
  }

  nodes(): ClusterNodes {
    return this.#reader.nodes();
  }

  /** Tells every change of a pod from now on; to be called before `start`, to hear of all. */
  onPodChange(listener: (change: InformerChange) => void): void {
    this.#podListeners.push(listener);
  }

  /** All pods as they are. */
  pods(): readonly KubernetesObject[] {
    this.#pods ??= this.#items("pod");
    return this.#pods;
  }

  /** Whether a pod is ready; false: it isn't, or there is none. */
  isReady({ namespace, name }: NamespacedName): boolean {
    const pod = this.pod(namespace, name);
    return pod !== null && hasCondition(pod, "Ready");
  }

  /** Replicas that a workload object asks for; null: there is no such object, or it has no such number. */
  desiredReplicas(kind: string, { namespace, name }: NamespacedName): number | null {
    const watched = WORKLOAD_KINDS.find((each) => KINDS[each].kind === kind);
    const object =
      watched === undefined ? null : (this.#informers.get(watched)?.get(name, namespace) ?? null);
    const { replicas } = looseFields<{ replicas: number }>(object?.spec);
    return typeof replicas === "number" ? replicas : null;
  }

  /** One pod as it is; null: there is none, or it isn't listed yet. */
  pod(namespace: string, name: string): KubernetesObject | null {
    return this.#informers.get("pod")?.get(name, namespace) ?? null;
  }

  /** All node objects as they are. */
  nodeObjects(): readonly KubernetesObject[] {
    return this.#items("node");
  }

  /**
   * All AppGroups as they are; null before their first list, which never comes where their kind isn't
   * installed.
   */
  appGroups(): readonly KubernetesObject[] | null {
    return this.#synced.has("appGroup") ? this.#items("appGroup") : null;
  }

  /** Declared channels that are left out, by reason. */
  refusedDeclarations(): ReadonlyMap<DeclarationRefusal, number> {
    return this.#reader.refusedDeclarations();
  }

  /** All workload objects as they are. */
  workloadObjects(): readonly KubernetesObject[] {
    return WORKLOAD_KINDS.flatMap((kind) => this.#items(kind));
  }

  /** Whether all pods and workloads were listed. */
  isListed(): boolean {
    return [...REQUIRED, ...WORKLOAD_KINDS].every((kind) => this.#synced.has(kind));
  }

  /** A node or workload object as it is now; null when it is gone. */
  latest({ kind, metadata }: KubernetesObject): KubernetesObject | null {
    const watched = [...WORKLOAD_KINDS, "node" as const].find((each) => KINDS[each].kind === kind);
    if (watched === undefined) return null;
    return this.#informers.get(watched)?.get(metadata.name, metadata.namespace) ?? null;
  }

  #follow(kind: ReadKind, ref: KindRef): void {
    const { store, clock, random, logger } = this.#options;
    const informer = createInformer({ store, kind: ref, clock, random, logger, ...DETAIL[kind] });
    this.#informers.set(kind, informer);
    informer.onChange((change) => this.#take(kind, change));
    void informer.synced().then(
      () => this.#synced.add(kind),
      () => undefined,
    );
  }

  #take(kind: ReadKind, change: InformerChange): void {
    this.#reader.take(kind, change);
    if (kind !== "pod") return;
    this.#pods = null;
    for (const listener of this.#podListeners) listener(change);
  }

  #items(kind: ReadKind): readonly KubernetesObject[] {
    return this.#informers.get(kind)?.items() ?? [];
  }
}
