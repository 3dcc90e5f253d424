import { naturally } from "@isochrone/primitives";
import type { PodPlacement, Workload } from "@isochrone/topology";
import { keyOf, record, text, type ApiObject } from "../feasibility/objects/json.ts";
import { controllerOf } from "../feasibility/objects/owners.ts";
import { waitingAgain } from "./pods.ts";
import { ChangeError, type Scaling, type World } from "./change.ts";

const MAX_REPLICAS = 10_000;

/** @param homeless receives the new pods */
export function resized(world: World, scaling: Scaling, homeless: Set<string>): World {
  const { workload: key, replicas } = scaling;
  if (!(Number.isInteger(replicas) && replicas >= 0 && replicas <= MAX_REPLICAS))
    throw new ChangeError(
      `replicas of ${key} must be a whole number from 0 to ${MAX_REPLICAS}, got ${replicas}`,
    );
  const { namespace, pods } = workloadOf(world, key);
  const running = pods.map(({ name }) => podOf(world, namespace, name));
  if (running.some((pod) => controllerOf(pod)?.kind === "DaemonSet"))
    throw new ChangeError(`a workload to scale must not be a DaemonSet's, got ${key}`);
  const excess = pods.length - replicas;
  return excess >= 0
    ? without(world, namespace, leastWanted(pods, excess))
    : grown(world, key, running, -excess, homeless);
}

function isWorkload({ namespace, name }: Workload, key: string): boolean {
  // Far ends of channels are named namespace/name.
  return name === key || `${namespace}/${name}` === key;
}

function workloadOf({ workflows }: World, key: string): Workload {
  for (const { workloads } of workflows) {
    const found = workloads.find((workload) => isWorkload(workload, key));
    if (found !== undefined) return found;
  }
  throw new ChangeError(`a workload to scale must be in a workflow, as namespace/name, got ${key}`);
}

function podOf({ objects }: World, namespace: string, name: string): ApiObject {
  const found = objects.pods.find((pod) => keyOf(pod) === `${namespace}/${name}`);
  if (found === undefined)
    throw new ChangeError(`a pod of a workload to scale must be among the objects, got ${namespace}/${name}`);
  return found;
}

/** Removes pods as a ReplicaSet does: pending ones first, then those on crowded nodes. */
function leastWanted(pods: readonly PodPlacement[], count: number): ReadonlySet<string> {
  const left = [...pods].sort((a, b) => naturally(a.name, b.name));
  const chosen = new Set<string>();
  while (chosen.size < count) {
    const crowd = Map.groupBy(left, ({ node }) => node);
    const rank = ({ node }: PodPlacement): number => (node === null ? Infinity : crowd.get(node)!.length);
    const last = left.reduce((worst, pod) => (rank(pod) >= rank(worst) ? pod : worst));
    left.splice(left.indexOf(last), 1);
    chosen.add(last.name);
  }
  return chosen;
}

function without(world: World, namespace: string, names: ReadonlySet<string>): World {
  const { objects, workflows } = world;
  const isGone = (space: string, name: string): boolean => space === namespace && names.has(name);
  return {
    ...world,
    objects: {
      ...objects,
      pods: objects.pods.filter(({ metadata }) => !isGone(metadata.namespace ?? "default", metadata.name)),
    },
    workflows: workflows.map((workflow) => ({
      ...workflow,
      workloads: workflow.workloads.map((workload) => ({
        ...workload,
        pods: workload.pods.filter(({ name }) => !isGone(workload.namespace, name)),
      })),
    })),
  };
}

function grown(
  world: World,
  key: string,
  running: readonly ApiObject[],
  count: number,
  homeless: Set<string>,
): World {
  const [template] = running;
  if (template === undefined)
    throw new ChangeError(`a workload to scale up must have a pod to copy, got ${key} with none`);
  const { objects, workflows } = world;
  const taken = new Set(objects.pods.map(keyOf));
  const added: ApiObject[] = [];
  for (let number = 1; added.length < count; number++) {
    const name = `${template.metadata.name}-more-${number}`;
    const copy = copyOf(template, name);
    if (taken.has(keyOf(copy))) continue;
    added.push(copy);
    homeless.add(keyOf(copy));
  }
  const placements = added.map(({ metadata }) => ({ name: metadata.name, node: null }));
  return {
    ...world,
    objects: { ...objects, pods: [...objects.pods, ...added] },
    workflows: workflows.map((workflow) => ({
      ...workflow,
      workloads: workflow.workloads.map((workload) =>
        isWorkload(workload, key) ? { ...workload, pods: [...workload.pods, ...placements] } : workload,
      ),
    })),
  };
}

function copyOf(template: ApiObject, name: string): ApiObject {
  const { uid } = record(template.metadata);
  return waitingAgain({ ...template, metadata: { ...template.metadata, name, ...uidOf(text(uid), name) } });
}

function uidOf(uid: string, name: string): object {
  return uid === "" ? {} : { uid: `${uid}-${name}` };
}
