// The workflow after pending deletions and replacements.
import { DEFAULT_PLAN_SETTINGS } from "@isochrone/placement";
import type { AssumedPod, PlanProblem } from "@isochrone/placement";
import { WorkflowGraph } from "@isochrone/topology";
import type { Replacing, UpcomingWorkloads } from "./adapters/upcoming-workloads.ts";
import { ordinalOf } from "./adapters/upcoming-workloads.ts";
import type { ClusterModel } from "./cluster-model.ts";
import type { GatedPod } from "./gated-workflows.ts";
import type { UsableGraphs } from "./graphs.ts";

type Pods = Pick<ClusterModel, "isGoing" | "nodeToBe" | "podsOf">;

export interface Replacements {
  readonly pods: readonly GatedPod[];
  /** Key of the pod that each one replaces, including pods already waiting for a node. */
  readonly replaced: ReadonlyMap<object, string>;
  readonly going: readonly string[];
}

const NONE: Replacements = { pods: [], replaced: new Map(), going: [] };

export function withoutGoing(graphs: UsableGraphs, model: Pods): UsableGraphs {
  const workflow = graphToBe(graphs.workflow, model);
  return workflow === graphs.workflow ? graphs : { ...graphs, workflow };
}

export function assumedToBe(
  assumed: readonly AssumedPod[],
  { namespace }: Pick<WorkflowGraph, "namespace">,
  model: Pick<Pods, "isGoing">,
): readonly AssumedPod[] {
  return assumed.filter(({ name }) => !model.isGoing(`${namespace}/${name}`));
}

/**
 * Pods that workloads will create for those about to go. A terminating pod counts as replaced if the rest of
 * its workload stays.
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
  // Longest-staying first: the others' room is free sooner.
  const old = [...leaving, ...going.filter((each) => !leaving.includes(each))];
  const byOrdinal = new Map(old.map((each) => [ordinalOf(each.pod.metadata.name), each]));
  const replaced = new Map<object, string>();
  const waiting = staying.flatMap(({ pod, node }) => (node === null ? [pod] : []));
  for (const [index, object] of [...missing.map((each) => each.object), ...waiting].entries()) {
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
 * Cost of full nodes in a partial plan, scaled so that each pod pays as in a plan for the whole workflow: a
 * plan shares the traffic of all its pods' channels among these pods only.
 */
export function pressureShareOf(
  { pods, workflow, assumed = [] }: Pick<PlanProblem, "assumed" | "pods" | "workflow">,
  bytesPerRequest: number,
): number {
  const all = new Set([...pods, ...assumed].map(({ name }) => name));
  for (const { name } of workflow.workloads) for (const pod of workflow.replicas(name).keys()) all.add(pod);
  const planned = new Set(pods.map(({ workload }) => workload));
  let [shared, whole] = [0, 0];
  for (const { source, target, bytesPerSecond, requestsPerSecond } of workflow.channels) {
    const rate = bytesPerSecond ?? (requestsPerSecond ?? 0) * bytesPerRequest;
    whole += rate;
    if (planned.has(source) || planned.has(target)) shared += rate;
  }
  const { pressureShare } = DEFAULT_PLAN_SETTINGS;
  return shared > 0 ? (pressureShare * whole * pods.length) / (shared * all.size) : pressureShare;
}

interface ToBe {
  readonly changes: string;
  readonly graph: WorkflowGraph;
}

/** Last result per graph: many requests arrive between two changes. */
const MADE = new WeakMap<WorkflowGraph, ToBe>();

function graphToBe(graph: WorkflowGraph, model: Pods): WorkflowGraph {
  const nodes = new Map<string, string | null>();
  for (const { namespace, pods } of graph.workloads)
    for (const { name, node } of pods) {
      const key = `${namespace}/${name}`;
      const toBe = model.nodeToBe(key);
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
  const toBe = new WorkflowGraph({
    version,
    observedAt,
    namespace,
    name,
    workloads,
    channels: [...channels],
  });
  MADE.set(graph, { changes, graph: toBe });
  return toBe;
}
