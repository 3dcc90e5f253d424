// 001: CommunicationAffinity beside the default profile's plugins. Its authors move no pods.
import { CommunicationAffinity, DEFAULT_AFFINITY, PlacementError } from "@isochrone/placement";
import type { CommunicationAffinityParameters } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Labels, Point } from "../scenario/model.ts";
import { clusterGraph, usedAmounts, workflowGraph } from "./graphs.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import { PAPER_PLUGIN_WEIGHT } from "./paper.ts";
import { requestOf, staying, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";
import { strategyPlugin } from "./strategy-plugin.ts";

export class AffinityContender implements Contender {
  readonly id = "affinity";
  readonly by = "Algorithm 1 of 001, raw, in an imitation of kube-scheduler 1.35";

  async place(
    point: Point,
    before: Observation | null,
    random: Random,
    kept: Placement = new Map(),
  ): Promise<Placement> {
    const cluster = before?.cluster ?? point.cluster;
    const request = requestOf(point, cluster, kept);
    const placement = staying(request);
    const graphs = {
      cluster: clusterGraph(cluster, { used: usedAmounts(point, placement, before) }),
      workflow: workflowGraph(point, before, { placement }),
    };
    try {
      const strategy = new CommunicationAffinity("raw", { parameters: parametersOf(point.labels) });
      // As in 000, its scores are added to those of the other plugins, and no weight is named.
      const extra = strategyPlugin(strategy, PAPER_PLUGIN_WEIGHT, graphs);
      return together(request, scheduleAll(request, random, { extra }));
    } catch (error) {
      throw new ContenderError(this.id, (error as Error).message, { cause: error });
    }
  }

  async adjust(): Promise<readonly PodMove[]> {
    return [];
  }

  async close(): Promise<void> {}
}

/** A scenario sweeps them as axes called `alpha`, `beta` and `gamma`. Without: the paper fixes none, so that ours stand in. */
export function parametersOf(labels: Labels): CommunicationAffinityParameters {
  const parameter = (name: keyof CommunicationAffinityParameters): number => {
    const value = labels[name] ?? DEFAULT_AFFINITY[name];
    if (typeof value === "number") return value;
    throw new PlacementError("invalid_setting", `${name} must be a number, got "${value}"`);
  };
  return { alpha: parameter("alpha"), beta: parameter("beta"), gamma: parameter("gamma") };
}
