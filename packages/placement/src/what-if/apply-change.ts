import type { WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import { SchedulingModel } from "../feasibility/scheduling-model.ts";
import { controllerOf } from "../feasibility/objects/owners.ts";
import { isTerminating, keyOf, record, text, type ApiObject } from "../feasibility/objects/json.ts";
import { ChangeError, type Change, type Relocation, type World } from "./change.ts";
import { waitingAgain } from "./pods.ts";
import { resized } from "./resized.ts";
import { slowed } from "./slowed.ts";

interface ChangedWorld {
  readonly world: World;
  /** Keys: namespace/name. */
  readonly relocated: ReadonlySet<string>;
  /** New pods and pods of removed nodes; keys are namespace/name. */
  readonly homeless: ReadonlySet<string>;
}

/** Throws ChangeError for unknown nodes, zones and workloads, and invalid numbers. */
export function applyChange(before: World, change: Change): ChangedWorld {
  const { drain = [], loseZones = [], scale = [], move = [], slow = [] } = change;
  const cluster = slow.length === 0 ? before.cluster : slowed(before.cluster, slow);
  const gone = goneNodes(before, drain, loseZones);
  const homeless = new Set<string>();
  let world: World = { ...before, cluster };
  if (gone.size > 0) world = withoutNodes(world, gone, homeless);
  for (const scaling of scale) world = resized(world, scaling, homeless);
  for (const relocation of move) world = relocatedTo(world, relocation);
  const relocated = new Set(move.map(({ pod }) => pod));
  for (const pod of relocated) homeless.delete(pod);
  return { world, homeless, relocated };
}

function relocatedTo(world: World, { pod, node }: Relocation): World {
  const { objects } = world;
  if (!objects.nodes.some(({ metadata }) => metadata.name === node))
    throw new ChangeError(`a moved pod's node must be one of the cluster's, got ${node}`);
  const moved = objects.pods.find((each) => keyOf(each) === pod);
  if (moved === undefined) throw new ChangeError(`a moved pod must be one of the cluster's, got ${pod}`);
  const others = objects.pods.filter((each) => each !== moved);
  const model = SchedulingModel.of({ ...objects, pods: others });
  const refusal = model.verdict(waitingAgain(moved), node);
  if (refusal !== null)
    throw new ChangeError(`a moved pod's node must admit it, got ${pod} on ${node}: ${refusal.message}`);
  const there = { ...moved, spec: { ...record(moved.spec), nodeName: node } };
  return { ...world, objects: { ...objects, pods: [...others, there] } };
}

function goneNodes(world: World, drain: readonly string[], zones: readonly string[]): Set<string> {
  const names = new Set(world.objects.nodes.map(({ metadata }) => metadata.name));
  for (const name of drain)
    if (!names.has(name)) throw new ChangeError(`a drained node must be one of the cluster's, got ${name}`);
  const gone = new Set(drain);
  for (const zone of zones) {
    const inside = world.cluster.nodes.filter((node) => node.zone === zone);
    if (inside.length === 0) throw new ChangeError(`a lost zone must have a node, got ${zone}`);
    for (const { name } of inside) gone.add(name);
  }
  return gone;
}

function withoutNodes(world: World, gone: ReadonlySet<string>, homeless: Set<string>): World {
  const { objects, cluster } = world;
  const ended = new Set<string>();
  const pods = objects.pods.flatMap((pod) => {
    const { nodeName } = record(pod.spec);
    if (!gone.has(text(nodeName))) return [pod];
    if (endsWithNode(pod)) {
      ended.add(keyOf(pod));
      return [];
    }
    homeless.add(keyOf(pod));
    return [waitingAgain(pod)];
  });
  return {
    ...world,
    objects: { ...objects, pods, nodes: objects.nodes.filter(({ metadata }) => !gone.has(metadata.name)) },
    cluster: {
      ...cluster,
      nodes: cluster.nodes.filter(({ name }) => !gone.has(name)),
      links: cluster.links.filter(({ source, target }) => !gone.has(source) && !gone.has(target)),
    },
    workflows: world.workflows.map((workflow) => withoutPods(workflow, gone, ended)),
  };
}

/** The pod has finished, or no controller recreates it. */
function endsWithNode(pod: ApiObject): boolean {
  const { phase } = record(pod.status);
  if (phase === "Succeeded" || phase === "Failed" || isTerminating(pod)) return true;
  const kind = controllerOf(pod)?.kind;
  return kind === "DaemonSet" || kind === "Node";
}

function withoutPods(
  workflow: WorkflowGraphSnapshot,
  gone: ReadonlySet<string>,
  ended: ReadonlySet<string>,
): WorkflowGraphSnapshot {
  const workloads = workflow.workloads.map((workload): Workload => {
    const pods = workload.pods
      .filter(({ name }) => !ended.has(`${workload.namespace}/${name}`))
      .map((pod) => (pod.node !== null && gone.has(pod.node) ? { ...pod, node: null } : pod));
    return { ...workload, pods };
  });
  return { ...workflow, workloads };
}
