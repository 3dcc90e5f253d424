import type { ClusterPodsOptions } from "./adapters/cluster-pods.ts";
import { movablePod } from "./descheduler/movable-pods.ts";
import type { DeschedulerConfig } from "./descheduler/settings.ts";
import { plannerPod } from "./planner/adapters/planner-pods.ts";
import type { PlannerConfig } from "./planner/settings.ts";
import { proposalsOf } from "./proposals/config.ts";
import type { ProposalsConfig } from "./proposals/config.ts";
import { runningPod } from "./proposals/running-pods.ts";

export interface PodReaders {
  readonly planner?: PlannerConfig;
  readonly descheduler?: DeschedulerConfig;
  readonly proposals?: ProposalsConfig;
}

/** Each keeps what the next one does, and more: moves, proposals, plans; the other parts need little of a pod. */
export function trimOf({ planner, descheduler, proposals }: PodReaders): Pick<ClusterPodsOptions, "trim"> {
  if (descheduler !== undefined && descheduler.mode !== "off") return { trim: movablePod };
  if (proposals !== undefined || proposalsOf(planner) !== null) return { trim: runningPod };
  return planner?.enabled === true ? { trim: plannerPod } : {};
}
