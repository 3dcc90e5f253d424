import type { ExclusionRules, MoveRules, PlanSettings } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { KubeScheduler } from "./kube-scheduler/port.ts";

export interface ContenderDeps {
  /** A real scheduler, shared by all trials; its creator closes it. @default the imitation */
  readonly kubeScheduler?: KubeScheduler;
  readonly product: ProductSettings;
  readonly clock: Pick<Clock, "monotonic">;
}

/**
 * Settings of Isochrone. This package must not import scheduler-plugin, so the caller passes
 * `loadSettings([plannerSettings, deschedulerSettings], { env: {} })`: the defaults.
 */
export interface ProductSettings {
  readonly planner: {
    readonly planMs: number;
    readonly seed: number;
    readonly exact: boolean;
    readonly maxCpuUse: number;
    /** @default 0 */
    readonly moneyShare?: number;
    /** 0: unlimited. */
    readonly hostnameMaxSkew: number;
    readonly zoneMaxSkew: number;
    readonly minNodes: number;
    readonly minZones: number;
  };
  readonly descheduler: Omit<MoveRules, keyof PlanSettings | "minNodes" | "minZones"> &
    Omit<ExclusionRules, "minPodAgeMs"> & {
      readonly intervalMs: number;
    };
}
