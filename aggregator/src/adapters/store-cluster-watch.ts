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

const REQUIRED = ["node", "pod", "replicaSet", "deployment"] as const;
/** Kinds without effect on readiness: optional CRDs, rare kinds, and routing. */
const OPTIONAL = ["statefulSet", "daemonSet", "appGroup", "service"] as const;
const MESH = ["destinationRule"] as const;

/** The fields kept per object: 100,000 whole pods would need a gigabyte. */
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

interface StoreClusterWatchOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Extended resource of a node's network capacity, bit/s. @default nodes declare none */
  readonly bandwidthResource?: string | null;
  readonly istioRouting?: boolean;
  /** Namespaces that may declare channels for other namespaces. @default none */
  readonly declarationRights?: DeclarationRights;
  readonly onRefusedDeclarations?: OnRefusedDeclarations;
}

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

  /** Subscribes to changes of pods. Subscribe before `start` to get all of them. */
  onPodChange(listener: (change: InformerChange) => void): void {
    this.#podListeners.push(listener);
  }

  pods(): readonly KubernetesObject[] {
    this.#pods ??= this.#items("pod");
    return this.#pods;
  }

  isReady({ namespace, name }: NamespacedName): boolean {
    const pod = this.pod(namespace, name);
    return pod !== null && hasCondition(pod, "Ready");
  }

  /** Desired replicas of a workload; null: no such object, or it has no such number. */
  desiredReplicas(kind: string, { namespace, name }: NamespacedName): number | null {
    const watched = WORKLOAD_KINDS.find((each) => KINDS[each].kind === kind);
    const object =
      watched === undefined ? null : (this.#informers.get(watched)?.get(name, namespace) ?? null);
    const { replicas } = looseFields<{ replicas: number }>(object?.spec);
    return typeof replicas === "number" ? replicas : null;
  }

  pod(namespace: string, name: string): KubernetesObject | null {
    return this.#informers.get("pod")?.get(name, namespace) ?? null;
  }

  nodeObjects(): readonly KubernetesObject[] {
    return this.#items("node");
  }

  /** Returns null before the first list, which never comes if the CRD is not installed. */
  appGroups(): readonly KubernetesObject[] | null {
    return this.#synced.has("appGroup") ? this.#items("appGroup") : null;
  }

  refusedDeclarations(): ReadonlyMap<DeclarationRefusal, number> {
    return this.#reader.refusedDeclarations();
  }

  workloadObjects(): readonly KubernetesObject[] {
    return WORKLOAD_KINDS.flatMap((kind) => this.#items(kind));
  }

  isListed(): boolean {
    return [...REQUIRED, ...WORKLOAD_KINDS].every((kind) => this.#synced.has(kind));
  }

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
