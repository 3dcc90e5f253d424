import { looseFields } from "@isochrone/primitives";
import {
  conditionsOf,
  createInformer,
  hasCondition,
  KINDS,
  nodeView,
  podAliases,
  podView,
  templateAliases,
  templateLabels,
  trimmedReplicaSet,
  trimmedWorkload,
  workflowOf,
  workloadOf,
  type ClusterStore,
  type Detail,
  type Informer,
  type InformerChange,
  type KindRef,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import {
  appGroupLabels,
  OWN_NAMESPACE_ONLY,
  type AppGroupMembers,
  type DeclarationRefusal,
  type DeclarationRights,
} from "@isochrone/topology";
import { declaredBandwidth, trimmedWithAdvertisement } from "../bandwidth-resource/node-status.ts";
import {
  EMPTY_CLUSTER,
  type ClusterNodes,
  type ClusterState,
  type NamespacedName,
  type NodeState,
  type PodState,
  type WorkloadState,
} from "../domain/cluster-state.ts";
import type { ClusterWatch } from "../ports/ports.ts";
import { sharedAliases } from "./alias-index.ts";
import { AppGroupIndex } from "./app-group-index.ts";
import { DeclaredObjects, type OnRefusedDeclarations } from "./declared-objects.ts";
import { trimmedDestinationRule } from "./istio-routing.ts";
import { NodeIndex } from "./node-index.ts";
import { addressesOf } from "./pod-addresses.ts";
import { PodIndex } from "./pod-index.ts";
import { MESH_PROXY_LABELS, trimmedReplica } from "./replica-detail.ts";
import { deadlinesOf, routingOfWorkloads, trimmedService } from "./service-routing.ts";

/** Kinds that the graphs can't be drawn without. */
const REQUIRED = ["node", "pod", "replicaSet", "deployment"] as const;
/**
 * Kinds whose API may be missing (a CRD), that few clusters use, or that only say how traffic is spread: a
 * failing list of these doesn't hold up readiness.
 */
const OPTIONAL = ["statefulSet", "daemonSet", "appGroup", "service"] as const;
const WORKLOAD_KINDS = ["deployment", "statefulSet", "daemonSet"] as const;
/** Only where a mesh's own rules are asked for. */
const MESH = ["destinationRule"] as const;
type WatchedKind = (typeof REQUIRED)[number] | (typeof OPTIONAL)[number] | (typeof MESH)[number];

/** What is kept of each object: 100,000 whole pods would be a gigabyte. */
const DETAIL: { readonly [K in WatchedKind]: Detail } = {
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

interface DeclarationsRead {
  readonly declared: ClusterState["declared"];
  readonly members: AppGroupMembers;
  /** Whether all pods and workloads were listed. */
  readonly isComplete: boolean;
}

/** Follows a ClusterStore by informers, and reads anew only those of its objects that changed. */
export class StoreClusterWatch implements ClusterWatch {
  readonly #options: StoreClusterWatchOptions;
  readonly #informers = new Map<WatchedKind, Informer>();
  readonly #synced = new Set<WatchedKind>();
  #state: ClusterState = EMPTY_CLUSTER;
  readonly #nodes = new NodeIndex((node) => this.#nodeState(node));
  readonly #podIndex = new PodIndex((pod) => this.#podState(pod));
  readonly #declared: DeclaredObjects;
  readonly #appGroups = new AppGroupIndex();
  #workloads: Pick<ClusterState, "workloads" | "routing" | "deadlines"> | null = null;
  #declarations: DeclarationsRead | null = null;
  readonly #podListeners: ((change: InformerChange) => void)[] = [];
  #pods: readonly KubernetesObject[] | null = null;

  constructor(options: StoreClusterWatchOptions) {
    this.#options = options;
    const { declarationRights = OWN_NAMESPACE_ONLY, onRefusedDeclarations, logger } = options;
    this.#declared = new DeclaredObjects(declarationRights, (object, refused) => {
      const { kind, metadata } = object;
      const subject = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
      logger.warnOnce(`declared:${subject}`, "declared channels left out", { subject, ...refused });
      onRefusedDeclarations?.(object, refused);
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

  /** The same object until something changed that is read. */
  current(): ClusterState {
    const nodes = this.nodes();
    const pods = this.#podIndex.current();
    this.#workloads ??= this.#readWorkloads();
    const { workloads } = this.#workloads;
    const before = this.#state;
    const isComplete = this.pending().length === 0;
    const isOfPods = before.pods === pods && before.workloads === workloads;
    const isDeclared = isOfPods && this.#declarations?.isComplete === isComplete;
    if (isDeclared && before.nodes === nodes.nodes) return this.#state;
    const { declared, members } = this.#declaredBy(pods, workloads, isComplete);
    this.#state = { ...nodes, ...this.#workloads, pods, declared, members };
    return this.#state;
  }

  /** Which channels an AppGroup declares depends on which pods carry its labels. */
  #declaredBy(
    pods: ClusterState["pods"],
    workloads: ClusterState["workloads"],
    isComplete: boolean,
  ): DeclarationsRead {
    const appGroups = this.#items("appGroup");
    const groups = appGroups.map(({ metadata: { namespace = "default", name } }) => ({ namespace, name }));
    const members = this.#appGroups.of(pods, workloads, groups);
    const read = this.#declarations;
    if (read !== null && read.members === members && read.isComplete === isComplete) return read;
    const declared = this.#declared.read(appGroups, this.workloadObjects(), isComplete ? members : null);
    this.#declarations = { declared, members, isComplete };
    return this.#declarations;
  }

  nodes(): ClusterNodes {
    return this.#nodes.current();
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
    return this.#declared.refused;
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

  #follow(kind: WatchedKind, ref: KindRef): void {
    const { store, clock, random, logger } = this.#options;
    const informer = createInformer({ store, kind: ref, clock, random, logger, ...DETAIL[kind] });
    this.#informers.set(kind, informer);
    informer.onChange((change) => this.#take(kind, change));
    void informer.synced().then(
      () => this.#synced.add(kind),
      () => undefined,
    );
  }

  #take(kind: WatchedKind, change: InformerChange): void {
    switch (kind) {
      case "node":
        this.#nodes.take(change);
        return;
      case "replicaSet":
        return this.#podIndex.takeReplicaSet(change);
      case "pod":
        this.#pods = null;
        this.#podIndex.take(change);
        for (const listener of this.#podListeners) listener(change);
        return;
      default:
        this.#workloads = null;
        this.#declarations = null;
    }
  }

  #items(kind: WatchedKind): readonly KubernetesObject[] {
    return this.#informers.get(kind)?.items() ?? [];
  }

  #readWorkloads(): Pick<ClusterState, "workloads" | "routing" | "deadlines"> {
    const objects = this.workloadObjects();
    const services = this.#items("service");
    return {
      workloads: objects.map(workloadState),
      routing: routingOfWorkloads(services, objects, this.#items("destinationRule")),
      deadlines: deadlinesOf(services),
    };
  }

  #nodeState(object: KubernetesObject): NodeState {
    const { bandwidthResource = null } = this.#options;
    const networkCapacityBitsPerSecond =
      bandwidthResource === null ? null : declaredBandwidth(object, bandwidthResource);
    const view = nodeView(object);
    const since = view.ready
      ? undefined
      : conditionsOf(object).find(({ type }) => type === "Ready")?.lastTransitionTime;
    const at = since === undefined ? Number.NaN : Date.parse(since);
    return {
      ...view,
      networkCapacityBitsPerSecond,
      ...(Number.isNaN(at) ? {} : { notReadySince: new Date(at).toISOString() }),
    };
  }

  /** Pods that ended or are about to are no replicas any more. */
  #podState(object: KubernetesObject): PodState | null {
    const view = podView(object);
    if (view.finished || view.terminating) return null;
    const { ingressLimitBitsPerSecond: ingress, egressLimitBitsPerSecond: egress } = view;
    const own = workloadOf(object, (namespace, replicaSet) =>
      this.#informers.get("replicaSet")!.get(replicaSet, namespace),
    );
    const { kind, name } = own;
    const aliases = sharedAliases(podAliases(object, own));
    return {
      namespace: view.namespace,
      name: view.name,
      node: view.node,
      workload: kind === "Pod" ? null : { kind, name },
      workflow: workflow(view.labels, view.namespace),
      ...placeOf(view.labels),
      ...addressesOf(object),
      ...(ingress === null ? {} : { ingressLimitBitsPerSecond: ingress }),
      ...(egress === null ? {} : { egressLimitBitsPerSecond: egress }),
      ...(MESH_PROXY_LABELS.some((label) => view.labels[label] !== undefined) ? { isMeshProxy: true } : {}),
      ...(aliases === null ? {} : { aliases }),
    };
  }
}

function workloadState(object: KubernetesObject): WorkloadState {
  const namespace = object.metadata.namespace ?? "default";
  const ofTemplate = templateLabels(object.spec);
  const labels = { ...object.metadata.labels, ...ofTemplate };
  const { name } = object.metadata;
  const aliases = sharedAliases(templateAliases(object));
  return {
    namespace,
    name,
    kind: object.kind,
    workflow: workflow(labels, namespace),
    ...placeOf(ofTemplate),
    ...(aliases === null ? {} : { aliases }),
  };
}

function placeOf(labels: Readonly<Record<string, string>> | undefined): Pick<PodState, "appGroup"> {
  const appGroup = appGroupLabels(labels);
  return appGroup === null ? {} : { appGroup };
}

function workflow(labels: Readonly<Record<string, string>>, namespace: string): NamespacedName {
  return { namespace, name: workflowOf(labels, namespace) };
}
