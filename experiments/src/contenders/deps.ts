import type { ExclusionRules, MoveRules, PlanSettings } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { KubeScheduler } from "./kube-scheduler/port.ts";

/** What contenders are given. */
export interface ContenderDeps {
  /** The real one, shared by all trials; whoever made it closes it. @default the imitation decides */
  readonly kubeScheduler?: KubeScheduler;
  readonly product: ProductSettings;
  /** By it the planner and the solver keep their deadlines. */
  readonly clock: Pick<Clock, "monotonic">;
}

/**
 * How Isochrone is set. This package may not import the scheduler-plugin, so whoever composes the experiment
 * hands its settings in: `loadSettings([plannerSettings, deschedulerSettings], { env: {} })` are the
 * defaults, which is what is to be contended with.
 */
export interface ProductSettings {
  readonly planner: {
    readonly planMs: number;
    readonly seed: number;
    readonly exact: boolean;
    readonly maxCpuUse: number;
    /** @default 0 */
    readonly moneyShare?: number;
    /** 0: no limit. */
    readonly hostnameMaxSkew: number;
    readonly zoneMaxSkew: number;
    readonly minNodes: number;
    readonly minZones: number;
  };
  readonly descheduler: Omit<MoveRules, keyof PlanSettings | "minNodes" | "minZones"> &
    Omit<ExclusionRules, "minPodAgeMs"> & {
      /** Between two runs. */
      readonly intervalMs: number;
    };
}
