import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { DomainConstraint, PlanProblem } from "../../planner/objective/plan-problem.ts";
import type { AssumedPod } from "../../scoring/problem.ts";
import type { JudgedTemplate } from "../filters/judged-template.ts";
import type { ApiObject } from "../objects/json.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import type { SpreadLimits } from "../objects/spread-limits.ts";

export interface PlanInput {
  /** State of the cluster, unchanged afterwards. Planned pods in it are removed meanwhile. */
  readonly model: SchedulingModel;
  readonly pods: readonly ApiObject[];
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly assumed?: readonly AssumedPod[];
  readonly prices?: PairPrices | undefined;
  /** Keys of pods that will be gone: their resources are free, and no rule counts them. @default none */
  readonly going?: readonly string[];
  /** Key of the `going` pod that each planned pod replaces; its node is the current one. @default none */
  readonly replaced?: ReadonlyMap<object, string>;
  readonly spread?: Partial<SpreadLimits>;
  /**
   * Workload in the workflow graph. Null: unknown.
   * @default the controller's name, a ReplicaSet's without its hash
   */
  readonly workloadOf?: (pod: ApiObject) => string | null;
}

export interface FeasiblePlanProblem extends PlanProblem {
  readonly availability: readonly DomainConstraint[];
  /** Limits lowered because no assignment could meet them, and unplannable pods. */
  readonly notes: readonly string[];
}

export interface PlannedPod {
  readonly index: number;
  readonly raw: ApiObject;
  readonly pod: SchedulingPod;
  readonly template: JudgedTemplate;
}
