// Attach limits of CSI drivers as resources of a plan: a node has so many slots of a driver, and each volume
// of a planned pod takes one. A volume that several pods share takes one for each, and one where it is
// attached already, which is more than kube-scheduler asks for: no plan is refused because of it, and only a
// node that is nearly full of shared volumes is left out without need.
import type { PlanNode } from "../../planner/objective/plan-problem.ts";
import type { NodeState } from "../objects/node-state.ts";
import type { PlannedPod } from "./plan-input.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { driversOf } from "../filters/volumes.ts";

/** Nodes and what is wanted of them, by the resources. */
interface Demand {
  readonly resources: readonly string[];
  readonly nodes: PlanNode[];
  /** By planned pod. */
  readonly demands: readonly Float64Array[];
}

/** As the resource was called when nodes had it in their status. */
const PREFIX = "attachable-volumes-csi-";
/** Slots of a node that nobody knows a limit of. */
const UNLIMITED = 2 ** 31;

/**
 * The same, with slots of each driver that a node limits.
 * @param current by planned pod, where it runs and holds its volumes now
 */
export function withAttachLimits(
  model: SchedulingModel,
  planned: readonly PlannedPod[],
  current: readonly (NodeState | null)[],
  demand: Demand,
): Demand {
  const volumes = planned.map(({ template }) => driversOf(template.volumes.volumes));
  const drivers = [...new Set(volumes.flatMap((own) => [...own.values()]))]
    .filter((driver) => model.nodes.some(({ name }) => model.storage.limitOf(name, driver) !== null))
    .sort();
  if (drivers.length === 0) return demand;
  const lowest = planned.reduce((least, { pod }) => Math.min(least, pod.priority), Infinity);
  return {
    resources: [...demand.resources, ...drivers.map((driver) => PREFIX + driver)],
    demands: demand.demands.map((amounts, pod) => {
      const own = [...volumes[pod]!.values()];
      return longer(
        amounts,
        drivers.map((driver) => countOf(own, driver)),
      );
    }),
    nodes: demand.nodes.map((node, index) => {
      const state = model.nodes[index]!;
      const limits = drivers.map((driver) => model.storage.limitOf(state.name, driver) ?? UNLIMITED);
      const held = volumes.filter((_, pod) => current[pod] === state);
      const taken = takenOf(model, state, lowest, held);
      const free = limits.map((limit, at) => limit - countOf(taken, drivers[at]!));
      return { ...node, free: longer(node.free, free), allocatable: longer(node.allocatable, limits) };
    }),
  };
}

/**
 * Drivers of volumes that others than the planned pods hold on the node.
 * @param held by planned pods that run there
 */
function takenOf(
  { storage }: SchedulingModel,
  node: NodeState,
  lowestPriority: number,
  held: readonly ReadonlyMap<string, string>[],
): string[] {
  const promised = [...node.nominated.values()].filter(({ priority }) => priority >= lowestPriority);
  const { used, attached } = storage.attachedTo(node, promised);
  for (const own of held) for (const handle of own.keys()) if (!used.has(handle)) attached.delete(handle);
  return [...attached.values()];
}

function countOf(drivers: readonly string[], driver: string): number {
  return drivers.filter((one) => one === driver).length;
}

function longer(amounts: Float64Array, more: readonly number[]): Float64Array {
  return Float64Array.from([...amounts, ...more]);
}
