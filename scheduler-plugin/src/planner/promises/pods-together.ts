import { keyOf } from "@isochrone/kubernetes";
import { planProblem } from "@isochrone/placement";
import type { FeasiblePlanProblem } from "@isochrone/placement";
import type { Ledger } from "../../domain/ledger.ts";
import type { UpcomingWorkloads } from "../adapters/upcoming-workloads.ts";
import type { ClusterModel } from "../cluster-model.ts";
import { workloadOf } from "../gated-workflows.ts";
import type { GatedPod, GatedWorkflows } from "../gated-workflows.ts";
import type { UsableGraphs } from "../graphs.ts";
import { leavingOf } from "../room-to-come.ts";
import type { PlannerConfig } from "../settings.ts";
import { spreadLimits } from "../spread.ts";
import { assumedToBe, replacementsIn } from "../workflow-to-be.ts";
import type { Replacements } from "../workflow-to-be.ts";
import { standingIn } from "./standing.ts";

export interface PodsTogetherOptions {
  readonly config: PlannerConfig;
  readonly model: ClusterModel;
  readonly ledger: Ledger;
  readonly upcoming: Pick<UpcomingWorkloads, "of" | "running">;
  readonly gated: Pick<GatedWorkflows, "of">;
}

export interface Together extends Pick<Replacements, "going" | "replaced"> {
  readonly pods: readonly GatedPod[];
  readonly coming: readonly GatedPod[];
}

export class PodsTogether {
  readonly #options: PodsTogetherOptions;

  constructor(options: PodsTogetherOptions) {
    this.#options = options;
  }

  replacements(key: string, { workflow }: UsableGraphs): Replacements {
    const { upcoming, model } = this.#options;
    const found = replacementsIn(key, upcoming, model);
    return { ...found, pods: found.pods.filter((pod) => workloadOf(pod, workflow) !== null) };
  }

  /**
   * During a rollout: all pods of the workflow to come or waiting. Else those of these workloads and of their
   * peers. Empty if one isn't known yet, if others of the workflow are about to free room, or if there are
   * too many.
   * @param asked a pod about to be created
   */
  of(
    workloads: readonly string[],
    key: string,
    graphs: UsableGraphs,
    asked: GatedPod | null = null,
  ): Together {
    const { gated, model, config } = this.#options;
    const { pods: coming, going, replaced } = this.replacements(key, graphs);
    const isAwaited = coming.some(
      (pod) => asked !== null && workloadOf(pod, graphs.workflow) === workloadOf(asked, graphs.workflow),
    );
    if (going.length > 0) {
      const pods = [...(asked === null || isAwaited ? [] : [asked]), ...gated.of(key), ...coming];
      const leaving = leavingOf(key, model).map(keyOf);
      return { pods: pods.slice(0, config.maxPods), coming, going: [...going, ...leaving], replaced };
    }
    const isRoomTaken = leavingOf(key, model).length > 0;
    return { pods: isRoomTaken ? [] : this.#newOnes(workloads, key, graphs), coming, going, replaced };
  }

  #newOnes(workloads: readonly string[], key: string, { workflow }: UsableGraphs): GatedPod[] {
    const { upcoming, gated, model, ledger, config } = this.#options;
    const isStanding = standingIn(workflow, { model, ledger });
    const coming = Map.groupBy(upcoming.of(key).flat(), (pod) => workloadOf(pod, workflow));
    for (const [name, pods] of Map.groupBy(gated.of(key), (pod) => workloadOf(pod, workflow)))
      coming.set(name, pods);
    const pods: GatedPod[] = [];
    const seen = new Set<string>();
    const open = [...workloads];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (seen.has(name) || isStanding(name)) continue;
      seen.add(name);
      const of = coming.get(name);
      if (of === undefined) return [];
      pods.push(...of);
      open.push(...workflow.peersOf(name));
    }
    return pods.length > config.maxPods ? [] : pods;
  }

  /** Existing pods must fit beside those about to go. */
  problem(together: Together, graphs: UsableGraphs): FeasiblePlanProblem {
    const { model } = this.#options;
    const problem = this.#problemToBe(together, graphs);
    const isComing = new Set(together.coming);
    const full = [...new Set(together.going.map((key) => model.model.nodeOf(key)?.index ?? -1))];
    if (full.length === 0) return problem;
    return {
      ...problem,
      pods: problem.pods.map((pod, index) => {
        const { object } = together.pods[index]!;
        if (isComing.has(together.pods[index]!)) return pod;
        const closed = full.filter(
          (node) => node >= 0 && model.model.verdict(object, problem.nodes[node]!.name) !== null,
        );
        if (closed.length === 0) return pod;
        const allowed = pod.allowed?.slice() ?? new Uint8Array(problem.nodes.length).fill(1);
        for (const node of closed) allowed[node] = 0;
        return { ...pod, allowed };
      }),
    };
  }

  #problemToBe(
    { pods, going, replaced }: Together,
    { cluster, workflow, prices }: UsableGraphs,
  ): FeasiblePlanProblem {
    const { model, ledger, config } = this.#options;
    const nameOf = new Map<object, string | null>(pods.map((pod) => [pod.object, workloadOf(pod, workflow)]));
    return planProblem({
      model: model.model,
      pods: pods.map(({ object }) => object),
      cluster,
      workflow,
      prices,
      assumed: assumedToBe(ledger.assumed(workflow.namespace, workflow.name), workflow, model),
      workloadOf: (pod) => nameOf.get(pod) ?? null,
      going,
      replaced,
      spread: spreadLimits(config),
    });
  }
}
