// Contender 001: CommunicationAffinity beside the default plugins. Its authors move no pods, but their
// scheduler reads measured traffic.
import { CommunicationAffinity, DEFAULT_AFFINITY, PlacementError } from "@isochrone/placement";
import type { CommunicationAffinityParameters } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Labels, Point } from "../scenario/model.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import { PAPER_PLUGIN_WEIGHT } from "./paper.ts";
import { movesBetween, staying } from "./pods.ts";
import type { Observation, Placement, PodMove } from "./port.ts";
import { graphsOf, SchedulingContender } from "./scheduling-contender.ts";
import type { SchedulingInput } from "./scheduling-contender.ts";
import { strategyPlugin } from "./strategy-plugin.ts";

export class AffinityContender extends SchedulingContender {
  readonly id = "affinity";
  readonly by =
    "Algorithm 1 of Marchese and Tomarchio 2022 (communication-aware), raw, in an imitation of kube-scheduler 1.35";
  #isDeployedAgain = false;

  protected schedule({ point, before, request, random }: SchedulingInput): Placement {
    const strategy = new CommunicationAffinity("raw", { parameters: parametersOf(point.labels) });
    // As in 000: scores are added to those of other plugins, without a stated weight.
    const graphs = graphsOf(point, before, staying(request));
    return scheduleAll(request, random, { extra: strategyPlugin(strategy, PAPER_PLUGIN_WEIGHT, graphs) });
  }

  /** Redeploys once, when traffic is known. Otherwise beta would have no effect. */
  async adjust(
    point: Point,
    placement: Placement,
    observed: Observation,
    random: Random,
  ): Promise<readonly PodMove[]> {
    if (this.#isDeployedAgain) return [];
    this.#isDeployedAgain = true;
    return movesBetween(point, placement, await this.place(point, observed, random));
  }
}

/** Scenarios sweep the axes `alpha`, `beta` and `gamma`. Defaults are ours, since the paper states none. */
export function parametersOf(labels: Labels): CommunicationAffinityParameters {
  const parameter = (name: keyof CommunicationAffinityParameters): number => {
    const value = labels[name] ?? DEFAULT_AFFINITY[name];
    if (typeof value === "number") return value;
    throw new PlacementError("invalid_setting", `${name} must be a number, got "${value}"`);
  };
  return { alpha: parameter("alpha"), beta: parameter("beta"), gamma: parameter("gamma") };
}
