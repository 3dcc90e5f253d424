// Models CSI attach limits as resources, one slot per volume. A shared volume takes a slot per pod, more than
// in kube-scheduler; at worst, this excludes a node that is nearly full of them.
import type { PlanNode } from "../../planner/objective/plan-problem.ts";
import type { NodeState } from "../objects/node-state.ts";
import type { PlannedPod } from "./plan-input.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { driversOf } from "../filters/volumes.ts";

interface Demand {
  readonly resources: readonly string[];
  readonly nodes: PlanNode[];
  readonly demands: readonly Float64Array[];
}

/** The former resource name in the node's status. */
const PREFIX = "attachable-volumes-csi-";
const UNLIMITED = 2 ** 31;

/** Adds slots for each limited driver. @param current where each planned pod runs and holds volumes */
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
