// Caches plan nodes, because few of thousands change between plans.
import type { PlanNode } from "../../planner/objective/plan-problem.ts";
import type { Amounts } from "./amounts.ts";
import { labelOf } from "./json.ts";
import type { NodeState } from "./node-state.ts";
import { REGION, ZONE } from "./spread-limits.ts";

export const PODS = "pods";

const MAX_LISTS = 8;

interface Kept {
  readonly nodes: PlanNode[];
  /** Version of the node's state; -1: must be rebuilt. */
  readonly versions: Int32Array;
}

export class PlanNodes {
  readonly #nodes: readonly NodeState[];
  readonly names: readonly string[];
  readonly #kept = new Map<string, Kept>();

  constructor(nodes: readonly NodeState[]) {
    this.#nodes = nodes;
    this.names = nodes.map(({ name }) => name);
  }

  /**
   * Nodes in model order. Deducts nominated pods that a planned pod must yield to.
   * @param lowestPriority of the planned pods
   */
  of(resources: readonly string[], lowestPriority: number): PlanNode[] {
    const { nodes, versions } = this.#keptFor(resources);
    for (let index = 0; index < this.#nodes.length; index++) {
      const node = this.#nodes[index]!;
      if (versions[index] === node.version) continue;
      nodes[index] = planNode(node, resources, lowestPriority, nodes[index]);
      // The nominated pods that count depend on the caller.
      versions[index] = node.nominated.size === 0 ? node.version : -1;
    }
    return nodes.slice();
  }

  #keptFor(resources: readonly string[]): Kept {
    const key = JSON.stringify(resources);
    let kept = this.#kept.get(key);
    if (kept === undefined) {
      if (this.#kept.size >= MAX_LISTS) this.#kept.clear();
      kept = { nodes: [], versions: new Int32Array(this.#nodes.length).fill(-1) };
      this.#kept.set(key, kept);
    }
    return kept;
  }
}

/** @param before previous version of the node; constant values are reused */
function planNode(
  node: NodeState,
  resources: readonly string[],
  lowestPriority: number,
  before: PlanNode | undefined,
): PlanNode {
  const nominated = [...node.nominated.values()].filter(({ priority }) => priority >= lowestPriority);
  const allocatable = before?.allocatable ?? vector(node.allocatable, node.maxPods, resources);
  const free = new Float64Array(resources.length);
  for (const [index, resource] of resources.entries()) {
    if (resource === PODS) free[index] = node.maxPods - node.pods.size - nominated.length;
    else {
      let left = allocatable[index]! - node.used(resource);
      for (const { requests } of nominated) left -= requests.get(resource) ?? 0;
      free[index] = left;
    }
  }
  return {
    name: node.name,
    zone: labelOf(node.labels, ZONE) ?? null,
    region: labelOf(node.labels, REGION) ?? null,
    free,
    allocatable,
  };
}

export function vector(amounts: Amounts, pods: number, resources: readonly string[]): Float64Array {
  const values = new Float64Array(resources.length);
  for (const [index, resource] of resources.entries())
    values[index] = resource === PODS ? pods : (amounts.get(resource) ?? 0);
  return values;
}
