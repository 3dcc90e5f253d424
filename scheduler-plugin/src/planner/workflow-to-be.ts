// The workflow as it will be: without pods that are about to go, with those that come in their place.
import { DEFAULT_PLAN_SETTINGS } from "@isochrone/placement";
import type { AssumedPod, PlanProblem } from "@isochrone/placement";
import { WorkflowGraph } from "@isochrone/topology";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Replacing, UpcomingWorkloads } from "./adapters/upcoming-workloads.ts";
import { ordinalOf } from "./adapters/upcoming-workloads.ts";
import type { ClusterModel } from "./cluster-model.ts";
import type { GatedPod } from "./gated-workflows.ts";
import type { UsableGraphs } from "./graphs.ts";

type Pods = Pick<ClusterModel, "isGoing" | "nodeToBe" | "podsOf">;

/** Pods that will come in the place of pods that are about to go. */
export interface Replacements {
  readonly pods: readonly GatedPod[];
  /** Key of the pod that each replaces, and whose room it may count on. */
  readonly replaced: ReadonlyMap<object, string>;
  /** Keys of all pods that are about to go. */
  readonly going: readonly string[];
}

const NONE: Replacements = { pods: [], replaced: new Map(), going: [] };

/** The same graphs, but no pod that is about to go is a neighbour. */
export function withoutGoing(graphs: UsableGraphs, model: Pods): UsableGraphs {
  const workflow = graphToBe(graphs.workflow, model);
  return workflow === graphs.workflow ? graphs : { ...graphs, workflow };
}

/** Decisions that the graph doesn't show yet, but for pods that are about to go. */
export function assumedToBe(
  assumed: readonly AssumedPod[],
  { namespace }: Pick<WorkflowGraph, "namespace">,
  model: Pick<Pods, "isGoing">,
): readonly AssumedPod[] {
  return assumed.filter(({ name }) => !model.isGoing(`${namespace}/${name}`));
}

/**
 * Pods that workloads of the workflow will make in the place of pods that are about to go. Pods that are
 * being deleted have been replaced already where the rest of their workload stays.
 * @param workflow namespace/workflow
 */
export function replacementsIn(
  workflow: string,
  upcoming: Pick<UpcomingWorkloads, "running">,
  model: Pods,
): Replacements {
  const found = upcoming.running(workflow).flatMap((each) => replacementsOf(each, model) ?? []);
  if (found.length === 0) return NONE;
  return {
    pods: found.flatMap(({ pods }) => pods),
    replaced: new Map(found.flatMap(({ replaced }) => [...replaced])),
    going: found.flatMap(({ going }) => going),
  };
}

/** null: it keeps its pods. */
function replacementsOf({ state, newest, older, pods }: Replacing, model: Pods): Replacements | null {
  const all = [newest, ...older].flatMap((uid) => [...model.podsOf(uid)]);
  const going = all.filter(({ isGoing, node }) => isGoing && node !== null);
  const leaving = going.filter(({ pod }) => pod.metadata.deletionTimestamp === undefined);
  if (leaving.length === 0) return null;
  const staying = all.filter(({ isGoing }) => !isGoing);
  const missing = state.isDeployment
    ? pods().slice(0, Math.max(0, state.replicas - staying.length))
    : missingOrdinals(
        pods(),
        staying.map(({ pod }) => pod.metadata.name),
      );
  // Pods that stay the longest first: the room of the others is free sooner.
  const old = [...leaving, ...going.filter((each) => !leaving.includes(each))];
  const byOrdinal = new Map(old.map((each) => [ordinalOf(each.pod.metadata.name), each]));
  const replaced = new Map<object, string>();
  for (const [index, { object }] of missing.entries()) {
    const own = state.isDeployment ? old[index] : byOrdinal.get(ordinalOf(object.metadata.name));
    if (own !== undefined) replaced.set(object, own.key);
  }
  return { pods: missing, replaced, going: going.map(({ key }) => key) };
}

function missingOrdinals(pods: readonly GatedPod[], staying: readonly string[]): GatedPod[] {
  const there = new Set(staying.map(ordinalOf));
  return pods.filter(({ object }) => !there.has(ordinalOf(object.metadata.name)));
}

/**
 * What full nodes cost in a plan for some of a workflow's replicas, so that each counts as in a plan for all
 * of them: the cost of a plan takes a channel's whole traffic, however few of its replicas are planned.
 */
export function pressureShareOf(
  { pods, workflow, assumed = [] }: Pick<PlanProblem, "assumed" | "pods" | "workflow">,
  bytesPerRequest: number,
): number {
  const isPlanned = new Set(pods.map(({ name }) => name));
  const plannedOf = Map.groupBy(pods, ({ workload }) => workload);
  const shares = new Map<string, number>();
  const fixedShare = (workload: string): number => {
    const known = shares.get(workload);
    if (known !== undefined) return known;
    const names = [
      ...workflow.replicas(workload).keys(),
      ...assumed.flatMap((pod) => (pod.workload === workload ? [pod.name] : [])),
    ];
    const fixed = new Set(names.filter((name) => !isPlanned.has(name))).size;
    const share = fixed / Math.max(1, fixed + (plannedOf.get(workload)?.length ?? 0));
    shares.set(workload, share);
    return share;
  };
  let [planned, all] = [0, 0];
  for (const { source, target, bytesPerSecond, requestsPerSecond } of workflow.channels) {
    if (!plannedOf.has(source) && !plannedOf.has(target)) continue;
    const rate = bytesPerSecond ?? (requestsPerSecond ?? 0) * bytesPerRequest;
    planned += rate * (1 - fixedShare(source) * fixedShare(target));
    all += rate;
  }
  const { pressureShare } = DEFAULT_PLAN_SETTINGS;
  return all > 0 ? (pressureShare * planned) / all : pressureShare;
}

interface ToBe {
  /** What is different from the graph, in words. */
  readonly changes: string;
  readonly graph: WorkflowGraph;
}

/** Of each graph the last one that was made: many pods are asked about between two changes. */
const MADE = new WeakMap<WorkflowGraph, ToBe>();

function graphToBe(graph: WorkflowGraph, model: Pods): WorkflowGraph {
  const nodes = new Map<string, string | null>();
  for (const { namespace, pods } of graph.workloads)
    for (const { name, node } of pods) {
      const key = `${namespace}/${name}`;
      const toBe = model.nodeToBe(key);
      // A pod that waits is in the graph, or the planner knows where it goes.
      if (toBe !== undefined && toBe !== node) nodes.set(key, toBe);
    }
  if (nodes.size === 0) return graph;
  const changes = JSON.stringify([...nodes]);
  const made = MADE.get(graph);
  if (made?.changes === changes) return made.graph;
  const { version, observedAt, namespace, name, channels } = graph;
  const workloads = graph.workloads.map((workload) => ({
    ...workload,
    pods: workload.pods.flatMap((pod) => {
      const node = nodes.get(`${workload.namespace}/${pod.name}`);
      if (node === undefined) return [pod];
      return node === null ? [] : [{ ...pod, node }];
    }),
  }));
  const snapshot = { version, observedAt, namespace, name, workloads, channels };
  const toBe = new WorkflowGraph(snapshot as WorkflowGraphSnapshot);
  MADE.set(graph, { changes, graph: toBe });
  return toBe;
}
