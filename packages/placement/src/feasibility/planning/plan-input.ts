import type { PairPrices } from "@isochrone/prices";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { DomainConstraint, PlanProblem } from "../../planner/objective/plan-problem.ts";
import type { AssumedPod } from "../../scoring/problem.ts";
import type { JudgedTemplate } from "../filters/judged-template.ts";
import type { ApiObject } from "../objects/json.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import type { SpreadLimits } from "../objects/spread-limits.ts";

/** What is to be planned, and on what. */
export interface PlanInput {
  /**
   * It is the same afterwards. Pods to be planned that are in it, running or nominated, are taken out
   * meanwhile.
   */
  readonly model: SchedulingModel;
  /** Raw objects, in order of their creation. */
  readonly pods: readonly ApiObject[];
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly assumed?: readonly AssumedPod[];
  /** See PlanProblem. */
  readonly prices?: PairPrices | undefined;
  /**
   * Keys of pods in the model that will have gone before the planned ones come: they leave their room, and no
   * rule counts them. @default none
   */
  readonly going?: readonly string[];
  /**
   * By planned pod, the key of the pod of `going` that it comes for: that one's node is where it is now.
   * @default none comes for another
   */
  readonly replaced?: ReadonlyMap<object, string>;
  /** Parts of {@link DEFAULT_SPREAD} that are to be others. */
  readonly spread?: Partial<SpreadLimits>;
  /**
   * A pod's workload in the workflow graph; null for one that it doesn't know.
   * @default by the controller's name, a ReplicaSet's without its hash
   */
  readonly workloadOf?: (pod: ApiObject) => string | null;
}

/** A problem with what was done to its limits. */
export interface FeasiblePlanProblem extends PlanProblem {
  /** The constraints that are ours, not the pods': they keep a workload available. As hard as the others. */
  readonly availability: readonly DomainConstraint[];
  /**
   * In words: limits that no assignment could meet and that are lower therefore, pods that can't be planned.
   */
  readonly notes: readonly string[];
}

/** A pod to be planned, read. */
export interface PlannedPod {
  readonly index: number;
  readonly raw: ApiObject;
  readonly pod: SchedulingPod;
  readonly template: JudgedTemplate;
}
