// Nodes as plans see them. Between two plans few of thousands change, so the others are kept.
import type { PlanNode } from "../../planner/objective/plan-problem.ts";
import type { Amounts } from "./amounts.ts";
import { labelOf } from "./json.ts";
import type { NodeState } from "./node-state.ts";
import { REGION, ZONE } from "./spread-limits.ts";

/** As plans call the number of pods. */
export const PODS = "pods";

/** Lists of resources that are remembered. */
const MAX_LISTS = 8;

interface Kept {
  readonly node: PlanNode;
  /** Of the node's state. */
  readonly version: number;
}

export class PlanNodes {
  readonly #nodes: readonly NodeState[];
  /** By list of resources, then by node. */
  readonly #kept = new Map<string, (Kept | undefined)[]>();

  constructor(nodes: readonly NodeState[]) {
    this.#nodes = nodes;
  }

  /**
   * In the order of the model. Pods that are nominated to a node and that one of the planned ones must yield
   * to have their share already.
   * @param lowestPriority of the planned pods
   */
  of(resources: readonly string[], lowestPriority: number): PlanNode[] {
    const kept = this.#keptFor(resources);
    return this.#nodes.map((node, index) => {
      const known = kept[index];
      if (known !== undefined && known.version === node.version) return known.node;
      const made = planNode(node, resources, lowestPriority, known?.node);
      // Who counts among the nominated depends on who asks.
      if (node.nominated.size === 0) kept[index] = { node: made, version: node.version };
      return made;
    });
  }

  #keptFor(resources: readonly string[]): (Kept | undefined)[] {
    const key = JSON.stringify(resources);
    let kept = this.#kept.get(key);
    if (kept === undefined) {
      if (this.#kept.size >= MAX_LISTS) this.#kept.clear();
      kept = Array.from<undefined>({ length: this.#nodes.length });
      this.#kept.set(key, kept);
    }
    return kept;
  }
}

/** @param before the same node with other pods: what never changes is taken from it */
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
