import {
  constant,
  duration,
  flag,
  integer,
  list,
  oneOf,
  ratio,
  section,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { parseMaintenanceWindow } from "@isochrone/placement";
import { reasonOf } from "@isochrone/primitives";

/** `paper`: the rule of Marchese and Tomarchio 2023 (DAG workflows), section 3.4, to compare with. */
const DESCHEDULER_MODES = ["off", "dry-run", "evict", "paper"] as const;
export type DeschedulerMode = (typeof DESCHEDULER_MODES)[number];

const DAY_MS = 24 * 3_600_000;

const table = {
  mode: oneOf(DESCHEDULER_MODES, {
    default: "off",
    description:
      "off; dry-run: says what it would move (GET /api/v1/descheduler), and moves nothing; evict: moves pods; paper: evicts a pod whenever any node has a higher score by scheduler.strategy, for experiments only. Of several replicas one works.",
  }),
  intervalMs: duration({
    default: 60_000,
    min: 1_000,
    max: 3_600_000,
    description: "Pause between two runs.",
  }),
  minGainRatio: ratio({
    default: 0.1,
    description: "What a move must gain at least, as a share of what the pod's channels cost now.",
  }),
  minWorkflowGainRatio: constant(0.005, "It keeps gains near zero from moving pods."),
  minGain: constant(
    1_000,
    "descheduler.minGainRatio is the setting; this only keeps idle channels from moving pods.",
  ),
  rounds: constant(3, "No documented case changes this default."),
  coolDownMs: duration({
    default: 15 * 60_000,
    min: 0,
    max: DAY_MS,
    description:
      "After a move no other pod of the same controller is moved for so long; twice as long after each move that gained less than half of what was expected, up to a day.",
  }),
  maxEvictions: integer({ default: 10, min: 1, max: 1_000, description: "Pods moved per run." }),
  maxEvictionsPerHour: integer({
    default: 60,
    min: 1,
    max: 500,
    description:
      "Pods moved per hour in the whole cluster, under all leaders; a workflow gets at most half of them, a workload a tenth.",
  }),
  maxEvictionsPerNode: constant(3, "descheduler.maxEvictions bounds what moves."),
  maxEvictionsPerNamespace: constant(
    5,
    "descheduler.maxEvictions bounds what moves; of a workload it is never more than one pod.",
  ),
  maxGroup: constant(3, "It bounds the search, which grows with the size of groups."),
  minPodAgeMs: duration({
    default: 10 * 60_000,
    min: 0,
    max: 30 * DAY_MS,
    description: "Pods and workloads younger than this stay.",
  }),
  allowLocalStorage: flag({
    default: false,
    description: "Move pods with emptyDir or hostPath volumes: what is in an emptyDir is lost.",
  }),
  allowStatefulSets: flag({ default: false, description: "Move pods of StatefulSets." }),
  allowSingleReplicas: flag({
    default: false,
    description:
      "Move the only replica of a workload too where it is evicted first: nobody serves in its place until its successor is ready. Mode paper always does.",
  }),
  maxUnreadyRatio: ratio({
    default: 0.1,
    description:
      "Nothing is moved while more than this share of all nodes isn't ready, or of all pods without those of the namespace with the most such pods; and nothing in a namespace while it is so of its own pods.",
  }),
  windows: list({
    default: [],
    maxItems: 50,
    description:
      "When pods may be moved, in UTC: `22:00-04:00`, `Sat 00:00-24:00`, `Mon-Fri 22:00-04:00`. Without any: always.",
  }),
  moveDeadlineMs: constant(
    5 * 60_000,
    "No documented case changes this default; a replacement that isn't ready by then is only waited for no more.",
  ),
  judgeAfterMs: constant(10 * 60_000, "It is two windows by the default of aggregator.windowMs."),
  maxRegret: constant(0.5, "Moves that bring less than half of what they promised stop."),
  regretMoves: constant(3, "Fewer moves say little."),
  regretPauseMs: constant(3_600_000, "The pause doubles each time in a row."),
};

/** Settings of the descheduler. */
export const deschedulerSettings: Section<"descheduler", typeof table> = section("descheduler", table, {
  description: "Moves running pods that another node would serve better, through the eviction API.",
  rules: [({ windows }) => windowMistake(windows)],
});

/** Values of {@link deschedulerSettings}. */
export type DeschedulerConfig = SettingsOf<typeof deschedulerSettings>;

function windowMistake(windows: readonly string[]): string | null {
  for (const window of windows) {
    try {
      parseMaintenanceWindow(window);
    } catch (error) {
      return `descheduler.windows: ${reasonOf(error)}`;
    }
  }
  return null;
}
