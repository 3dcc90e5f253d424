// Collects the pods that a run may move, and one placement problem per workflow. Pure.
import {
  hasCondition,
  keyOf,
  moveOwnerOf,
  readLastMove,
  readMoveRecords,
  workloadOf,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import { canSurge, exclusionOf, planProblem, replacementOf, SchedulingModel } from "@isochrone/placement";
import type {
  AssumedPod,
  ClusterHealth,
  ExclusionRules,
  MovablePod,
  SpreadLimits,
  WorkflowToImprove,
} from "@isochrone/placement";
import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { identifyPod } from "../../domain/pod.ts";
import type { PodIdentity } from "../../domain/pod.ts";
import { withoutLeftNodes } from "./left-nodes.ts";
import type { SkipReason } from "./metrics.ts";
import { readinessOf } from "./readiness.ts";
import type { Readiness } from "./readiness.ts";

export interface ClusterLists {
  readonly pods: readonly KubernetesObject[];
  readonly nodes: readonly KubernetesObject[];
  readonly namespaces: readonly KubernetesObject[];
  readonly replicaSets: readonly KubernetesObject[];
  readonly deployments: readonly KubernetesObject[];
  readonly statefulSets: readonly KubernetesObject[];
  readonly persistentVolumes: readonly KubernetesObject[];
  readonly persistentVolumeClaims: readonly KubernetesObject[];
  readonly csiNodes: readonly KubernetesObject[];
  readonly volumeAttachments: readonly KubernetesObject[];
}

export interface SurveyInput {
  readonly lists: ClusterLists;
  readonly cluster: ClusterGraph;
  readonly prices?: PairPrices | undefined;
  readonly workflowGraph: (namespace: string, name: string) => WorkflowGraph | null;
  readonly isGated: (controller: KubernetesObject, namespace: string) => boolean;
  /** UIDs of controllers with an unfinished move of ours; the cluster may not show it yet. */
  readonly inFlight: ReadonlySet<string>;
  readonly backingOff: ReadonlySet<string>;
  /** UIDs of pods of larger moves that have begun; they skip the rest between two moves of a workload. */
  readonly begun: ReadonlySet<string>;
  readonly settled: (pods: readonly SurveyedPod[]) => ReadonlyMap<string, string>;
  /** Nodes that each workload left recently; its pods don't return yet. */
  readonly left: ReadonlyMap<string, ReadonlySet<string>>;
  readonly rules: ExclusionRules;
  readonly maxUnreadyRatio: number;
  readonly spread: SpreadLimits;
  readonly nowMs: number;
}

export interface SurveyedPod {
  readonly movable: MovablePod;
  readonly object: KubernetesObject;
  readonly identity: PodIdentity;
  readonly workload: string;
  readonly node: string;
  readonly canSurge: boolean;
}

interface SkippedPod {
  readonly workflow: string;
  readonly namespace: string;
  readonly pod: string;
  readonly node: string;
  readonly reason: SkipReason;
  readonly detail: string;
}

export interface Survey {
  readonly model: SchedulingModel;
  readonly workflows: readonly WorkflowToImprove[];
  /** Pods on nodes that the workflow's graph doesn't show yet, by workflow. */
  readonly assumed: ReadonlyMap<string, readonly AssumedPod[]>;
  readonly pods: ReadonlyMap<string, SurveyedPod>;
  readonly skipped: readonly SkippedPod[];
  readonly health: ClusterHealth;
  readonly uids: ReadonlySet<string>;
}

export function survey(input: SurveyInput): Survey {
  return new Surveyor(input).survey();
}

class Surveyor {
  readonly #input: SurveyInput;
  readonly #controllers: ReadonlyMap<string, KubernetesObject>;
  readonly #deployments: ReadonlyMap<string, KubernetesObject>;
  readonly #claims: ReadonlyMap<string, KubernetesObject>;
  readonly #volumes: ReadonlyMap<string, KubernetesObject>;
  readonly #live: readonly KubernetesObject[];
  readonly #nodesOf = new Map<string, string[]>();
  readonly #nodeByPod = new Map<string, string>();
  readonly #model: SchedulingModel;
  readonly #readiness: Readiness;
  readonly #skipped: SkippedPod[] = [];
  readonly #pods = new Map<string, SurveyedPod>();
  readonly #assumed = new Map<string, readonly AssumedPod[]>();

  constructor(input: SurveyInput) {
    this.#input = input;
    const { lists } = input;
    this.#controllers = new Map(
      [...lists.replicaSets, ...lists.statefulSets].map((object) => [object.metadata.uid ?? "", object]),
    );
    this.#deployments = byKey(lists.deployments);
    this.#claims = byKey(lists.persistentVolumeClaims);
    this.#volumes = new Map(lists.persistentVolumes.map((object) => [object.metadata.name, object]));
    this.#live = lists.pods.filter((pod) => !isFinished(pod));
    this.#model = SchedulingModel.of({ ...lists, pods: this.#live });
    this.#readiness = readinessOf(this.#live, input.maxUnreadyRatio, input.nowMs);
    for (const pod of this.#live) {
      const owner = moveOwnerOf(pod);
      const node = nodeOf(pod);
      if (node !== null) this.#nodeByPod.set(keyOf(pod), node);
      if (owner === null || node === null || pod.metadata.deletionTimestamp !== undefined) continue;
      this.#nodesOf.set(owner.uid, [...(this.#nodesOf.get(owner.uid) ?? []), node]);
    }
  }

  survey(): Survey {
    const workflows = [...this.#byWorkflow()].flatMap(([key, pods]) => this.#workflow(key, pods) ?? []);
    return {
      model: this.#model,
      workflows,
      assumed: this.#assumed,
      pods: this.#pods,
      skipped: this.#skipped,
      health: this.#health(),
      uids: new Set(this.#input.lists.pods.map(({ metadata }) => metadata.uid ?? "")),
    };
  }

  /** Groups pods on nodes by workflow, if a fresh graph of it knows their workload. */
  #byWorkflow(): Map<string, SurveyedPod[]> {
    const groups = new Map<string, SurveyedPod[]>();
    for (const object of this.#live) {
      const node = nodeOf(object);
      if (node === null) continue;
      const identity = identifyPod(object);
      const graph = this.#input.workflowGraph(identity.namespace, identity.workflow);
      const workload = identity.workloads.find((name) => graph?.workload(name) !== undefined);
      if (graph === null || workload === undefined) continue;
      const key = `${identity.namespace}/${identity.workflow}`;
      const movable = this.#movable(object, identity);
      const pod = { movable, object, identity, workload, node, canSurge: this.#canSurge(object) };
      groups.set(key, [...(groups.get(key) ?? []), pod]);
    }
    return groups;
  }

  #movable(pod: KubernetesObject, { namespace, name }: PodIdentity): MovablePod {
    const owner = moveOwnerOf(pod);
    const { kind, name: workload } = workloadOf(pod, (_, replicaSet) => this.#replicaSet(pod, replicaSet));
    return {
      uid: pod.metadata.uid ?? `${namespace}/${name}`,
      namespace,
      name,
      owner: `${kind} ${namespace}/${workload}`,
      replicaNodes: this.#nodesOf.get(owner?.uid ?? "") ?? [],
    };
  }

  #replicaSet(pod: KubernetesObject, name: string): KubernetesObject | null {
    const found = this.#controllers.get(moveOwnerOf(pod)?.uid ?? "");
    return found?.metadata.name === name ? found : null;
  }

  #workflow(key: string, all: readonly SurveyedPod[]): WorkflowToImprove | null {
    const { cluster, prices, spread } = this.#input;
    const { identity } = all[0]!;
    const graph = this.#input.workflowGraph(identity.namespace, identity.workflow)!;
    const unsettled = unsettledBy(graph, (name) => this.#nodeByPod.get(`${identity.namespace}/${name}`));
    if (unsettled !== null) return this.#skipAll(key, all, "unsettled", unsettled);
    const trouble = this.#readiness.troubled.get(identity.namespace);
    if (trouble !== undefined) return this.#skipAll(key, all, "unready", trouble);
    const settled = this.#input.settled(all);
    const pods = all.filter((pod) => this.#mayMove(key, pod, settled));
    if (pods.length === 0) return null;
    for (const pod of pods) this.#pods.set(pod.movable.uid, pod);
    const assumed = assumedOf(graph, all);
    this.#assumed.set(key, assumed);
    const problem = planProblem({
      model: this.#model,
      pods: pods.map(({ object }) => replacementOf(object)),
      cluster,
      workflow: graph,
      prices,
      assumed,
      spread,
      workloadOf: ({ metadata: { name } }) =>
        pods.find((pod) => pod.identity.name === name)?.workload ?? null,
    });
    const movable = pods.map((pod) => pod.movable);
    const owners = movable.map(({ owner }) => owner);
    return { key, problem: withoutLeftNodes(problem, owners, this.#input.left), pods: movable };
  }

  #mayMove(workflow: string, pod: SurveyedPod, settled: ReadonlyMap<string, string>): boolean {
    const { inFlight, backingOff, begun, rules, nowMs, isGated } = this.#input;
    const owner = moveOwnerOf(pod.object);
    const controller = this.#controllers.get(owner?.uid ?? "") ?? null;
    const exclusion = exclusionOf(
      {
        pod: pod.object,
        controller,
        workload: controller === null ? null : this.#workloadAbove(controller),
        replacementIsGated: controller !== null && isGated(controller, pod.identity.namespace),
        claim: (key) => this.#claims.get(key),
        volume: (name) => this.#volumes.get(name),
        moveInFlight:
          controller !== null && (inFlight.has(owner!.uid) || readMoveRecords(controller, nowMs).length > 0),
        lastMove: controller === null || begun.has(pod.movable.uid) ? null : readLastMove(controller),
      },
      rules,
      nowMs,
    );
    if (exclusion !== null) return this.#skip(workflow, pod, exclusion.reason, exclusion.detail);
    if (backingOff.has(owner!.uid))
      return this.#skip(workflow, pod, "backoff", "its eviction was refused a moment ago");
    const reason = settled.get(pod.movable.uid);
    if (reason !== undefined) return this.#skip(workflow, pod, "settled", reason);
    const [unsupported] = this.#model.unsupported(replacementOf(pod.object));
    return unsupported === undefined || this.#skip(workflow, pod, "unsupported", unsupported);
  }

  #canSurge(pod: KubernetesObject): boolean {
    const controller = this.#controllers.get(moveOwnerOf(pod)?.uid ?? "");
    return canSurge({ pod, workload: controller === undefined ? null : this.#workloadAbove(controller) });
  }

  #workloadAbove(controller: KubernetesObject): KubernetesObject | null {
    const above = controller.metadata.ownerReferences?.find((owner) => owner.controller === true);
    if (above?.kind !== "Deployment") return controller;
    return this.#deployments.get(`${controller.metadata.namespace ?? "default"}/${above.name}`) ?? null;
  }

  #skipAll(key: string, pods: readonly SurveyedPod[], reason: SkipReason, detail: string): null {
    for (const pod of pods) this.#skip(key, pod, reason, detail);
    return null;
  }

  #skip(workflow: string, { identity, node }: SurveyedPod, reason: SkipReason, detail: string): false {
    const { namespace, name: pod } = identity;
    this.#skipped.push({ workflow, namespace, pod, node, reason, detail });
    return false;
  }

  #health(): ClusterHealth {
    const { nodes } = this.#input.lists;
    const { pods, unreadyPods } = this.#readiness;
    const unreadyNodes = nodes.filter((node) => !hasCondition(node, "Ready")).length;
    return { pods, unreadyPods, nodes: nodes.length, unreadyNodes };
  }
}

/**
 * Explains which pods in the graph are gone or have a new node in the cluster; its traffic is outdated then.
 * Pods of other namespaces don't count: their owners could keep them changing forever.
 */
function unsettledBy(graph: WorkflowGraph, nodeOfPod: (name: string) => string | undefined): string | null {
  for (const workload of graph.workloads) {
    if (workload.namespace !== graph.namespace) continue;
    for (const { name, node } of workload.pods) {
      const now = nodeOfPod(name);
      if (node !== null && now !== node)
        return `its graph still shows ${name} on ${node}, ${now === undefined ? "where it isn't any more" : `and it is on ${now}`}`;
    }
  }
  return null;
}

function assumedOf(graph: WorkflowGraph, pods: readonly SurveyedPod[]): AssumedPod[] {
  return pods
    .filter(({ workload, identity }) => (graph.replicas(workload).get(identity.name) ?? null) === null)
    .map(({ workload, identity, node }) => ({ workload, name: identity.name, node }));
}

function byKey(objects: readonly KubernetesObject[]): Map<string, KubernetesObject> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function nodeOf({ spec }: KubernetesObject): string | null {
  const node = looseFields<PodSpec>(spec).nodeName;
  return typeof node === "string" && node !== "" ? node : null;
}

function isFinished({ status }: KubernetesObject): boolean {
  return (
    looseFields<PodStatus>(status).phase === "Succeeded" || looseFields<PodStatus>(status).phase === "Failed"
  );
}
