import type { CostField } from "./cost-field.ts";
import type { PlanProblem } from "./plan-problem.ts";

export interface Replicas {
  readonly count: number;
  readonly planned: readonly number[];
  readonly fixed: readonly number[];
}

/** Replicas of each workload: planned, placed (also by a recent decision), or pending. */
export class ReplicaBook {
  readonly planned: ReadonlyMap<string, readonly number[]>;
  readonly #problem: PlanProblem;
  readonly #field: CostField;
  readonly #kept = new Map<string, Replicas>();

  constructor(problem: PlanProblem, field: CostField) {
    this.#problem = problem;
    this.#field = field;
    this.planned = plannedByWorkload(problem);
  }

  of(workload: string): Replicas {
    let replicas = this.#kept.get(workload);
    if (replicas === undefined) this.#kept.set(workload, (replicas = this.#read(workload)));
    return replicas;
  }

  #read(workload: string): Replicas {
    const { workflow, pods, assumed = [] } = this.#problem;
    const planned = this.planned.get(workload) ?? [];
    const nodeByName = new Map(workflow.replicas(workload));
    for (const pod of assumed) {
      if (pod.workload === workload && (nodeByName.get(pod.name) ?? null) === null)
        nodeByName.set(pod.name, pod.node);
    }
    for (const pod of planned) nodeByName.set(pods[pod]!.name, null);
    const placed = [...nodeByName.values()].filter((node) => node !== null);
    return {
      count: Math.max(1, nodeByName.size),
      planned,
      fixed: placed.map((node) => this.#field.location(node)),
    };
  }
}

function plannedByWorkload(problem: PlanProblem): Map<string, number[]> {
  const planned = new Map<string, number[]>();
  for (const [index, { workload }] of problem.pods.entries()) {
    if (workload === null) continue;
    const pods = planned.get(workload);
    if (pods === undefined) planned.set(workload, [index]);
    else pods.push(index);
  }
  return planned;
}
