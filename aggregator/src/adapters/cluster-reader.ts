import {
  conditionsOf,
  nodeView,
  podAliases,
  podView,
  templateAliases,
  templateLabels,
  workflowOf,
  workloadOf,
} from "@isochrone/kubernetes/basics";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import {
  appGroupLabels,
  OWN_NAMESPACE_ONLY,
  type AppGroupMembers,
  type DeclarationRefusal,
  type DeclarationRights,
} from "@isochrone/topology";
import {
  EMPTY_CLUSTER,
  type ClusterNodes,
  type ClusterState,
  type NamespacedName,
  type NodeState,
  type PodState,
  type WorkloadState,
} from "../domain/cluster-state.ts";
import { sharedAliases } from "./alias-index.ts";
import { AppGroupIndex } from "./app-group-index.ts";
import { DeclaredObjects, type OnRefusedDeclarations } from "./declared-objects.ts";
import { NodeIndex } from "./node-index.ts";
import { addressesOf } from "./pod-addresses.ts";
import { PodIndex } from "./pod-index.ts";
import { deadlinesOf, routingOfWorkloads } from "./service-routing.ts";

export const WORKLOAD_KINDS = ["deployment", "statefulSet", "daemonSet"] as const;
export const READ_KINDS = ["node", "pod", "replicaSet", ...WORKLOAD_KINDS, "appGroup", "service"] as const;
/** READ_KINDS and Istio's DestinationRules, which are read only if configured. */
export type ReadKind = (typeof READ_KINDS)[number] | "destinationRule";

export const MESH_PROXY_LABELS: readonly string[] = [
  "gateway.networking.k8s.io/gateway-name",
  "istio.io/gateway-name",
];

interface ObjectSource {
  items(kind: ReadKind): readonly KubernetesObject[];
  replicaSet(namespace: string, name: string): KubernetesObject | null;
  /** Returns true if all objects that the graphs require are listed. */
  isComplete(): boolean;
}

interface ClusterReaderOptions {
  readonly source: ObjectSource;
  /** Declared network capacity, bit/s; null: none. */
  readonly networkCapacityOf: (node: KubernetesObject) => number | null;
  /** Namespaces that may declare channels for other namespaces. @default none */
  readonly declarationRights?: DeclarationRights;
  readonly onRefusedDeclarations: OnRefusedDeclarations;
}

interface DeclarationsRead {
  readonly declared: ClusterState["declared"];
  readonly members: AppGroupMembers;
  readonly isComplete: boolean;
}

/** Builds the cluster's state from its objects. Parses only objects that changed. */
export class ClusterReader {
  readonly #options: ClusterReaderOptions;
  #state: ClusterState = EMPTY_CLUSTER;
  readonly #nodes = new NodeIndex((node) => this.#nodeState(node));
  readonly #pods: PodIndex;
  readonly #declared: DeclaredObjects;
  readonly #appGroups = new AppGroupIndex();
  #workloads: Pick<ClusterState, "workloads" | "routing" | "deadlines"> | null = null;
  #declarations: DeclarationsRead | null = null;

  constructor(options: ClusterReaderOptions) {
    this.#options = options;
    const { source, declarationRights = OWN_NAMESPACE_ONLY, onRefusedDeclarations } = options;
    this.#pods = new PodIndex((pod) => podState(pod, source));
    this.#declared = new DeclaredObjects(declarationRights, onRefusedDeclarations);
  }

  take(kind: ReadKind, change: InformerChange): void {
    switch (kind) {
      case "node":
        this.#nodes.take(change);
        return;
      case "replicaSet":
        return this.#pods.takeReplicaSet(change);
      case "pod":
        return this.#pods.take(change);
      default:
        this.#workloads = null;
        this.#declarations = null;
    }
  }

  /** Returns the same object while nothing relevant has changed. */
  current(): ClusterState {
    const nodes = this.nodes();
    const pods = this.#pods.current();
    this.#workloads ??= this.#readWorkloads();
    const { workloads } = this.#workloads;
    const before = this.#state;
    const isComplete = this.#options.source.isComplete();
    const isOfPods = before.pods === pods && before.workloads === workloads;
    const isDeclared = isOfPods && this.#declarations?.isComplete === isComplete;
    if (isDeclared && before.nodes === nodes.nodes) return this.#state;
    const { declared, members } = this.#declaredBy(pods, workloads, isComplete);
    this.#state = { ...nodes, ...this.#workloads, pods, declared, members };
    return this.#state;
  }

  nodes(): ClusterNodes {
    return this.#nodes.current();
  }

  refusedDeclarations(): ReadonlyMap<DeclarationRefusal, number> {
    return this.#declared.refused;
  }

  /** The result depends on the pods that carry an AppGroup's labels. */
  #declaredBy(
    pods: ClusterState["pods"],
    workloads: ClusterState["workloads"],
    isComplete: boolean,
  ): DeclarationsRead {
    const appGroups = this.#options.source.items("appGroup");
    const groups = appGroups.map(({ metadata: { namespace = "default", name } }) => ({ namespace, name }));
    const members = this.#appGroups.of(pods, workloads, groups);
    const read = this.#declarations;
    if (read !== null && read.members === members && read.isComplete === isComplete) return read;
    const declared = this.#declared.read(appGroups, this.#workloadObjects(), isComplete ? members : null);
    this.#declarations = { declared, members, isComplete };
    return this.#declarations;
  }

  #workloadObjects(): readonly KubernetesObject[] {
    return WORKLOAD_KINDS.flatMap((kind) => this.#options.source.items(kind));
  }

  #readWorkloads(): Pick<ClusterState, "workloads" | "routing" | "deadlines"> {
    const { source } = this.#options;
    const objects = this.#workloadObjects();
    const services = source.items("service");
    return {
      workloads: objects.map(workloadState),
      routing: routingOfWorkloads(services, objects, source.items("destinationRule")),
      deadlines: deadlinesOf(services),
    };
  }

  #nodeState(object: KubernetesObject): NodeState {
    const view = nodeView(object);
    const since = view.ready
      ? undefined
      : conditionsOf(object).find(({ type }) => type === "Ready")?.lastTransitionTime;
    const at = since === undefined ? Number.NaN : Date.parse(since);
    return {
      ...view,
      networkCapacityBitsPerSecond: this.#options.networkCapacityOf(object),
      ...(Number.isNaN(at) ? {} : { notReadySince: new Date(at).toISOString() }),
    };
  }
}

/** Returns null for pods that have ended or are terminating. */
function podState(object: KubernetesObject, source: ObjectSource): PodState | null {
  const view = podView(object);
  if (view.finished || view.terminating) return null;
  const { ingressLimitBitsPerSecond: ingress, egressLimitBitsPerSecond: egress } = view;
  const own = workloadOf(object, (namespace, replicaSet) => source.replicaSet(namespace, replicaSet));
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
