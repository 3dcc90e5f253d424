import { parseMaintenanceWindow } from "@isochrone/placement";
import { duration, flag, integer, list, number, oneOf, ratio, section } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";

/** `paper`: the rule of Marchese and Tomarchio 2023 (DAG workflows), section 3.4, to compare with. */
export const DESCHEDULER_MODES = ["off", "dry-run", "evict", "paper"] as const;
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
  minWorkflowGainRatio: ratio({
    default: 0.005,
    description: "And the same as a share of what all channels of its workflow cost now.",
  }),
  minGain: number({
    default: 1_000,
    min: 0,
    max: 1e15,
    description:
      "And at least so much, bytes/s x ms: 1,000 is a kilobyte per second that comes one millisecond sooner.",
  }),
  rounds: integer({
    default: 3,
    min: 1,
    max: 1_000,
    description: "In so many runs in a row the same move must have paid.",
  }),
  coolDownMs: duration({
    default: 15 * 60_000,
    min: 0,
    max: DAY_MS,
    description:
      "After a move no other pod of the same controller is moved for so long; twice as long after each move that gained less than half of what was expected, up to a day.",
  }),
  maxEvictions: integer({ default: 10, min: 1, max: 1_000, description: "Pods moved per run." }),
  maxEvictionsPerNode: integer({ default: 3, min: 1, max: 1_000, description: "Of these, from one node." }),
  maxEvictionsPerNamespace: integer({
    default: 5,
    min: 1,
    max: 1_000,
    description: "Of these, of one namespace. Of a workload it is never more than one.",
  }),
  maxGroup: integer({
    default: 3,
    min: 1,
    max: 8,
    description: "Pods that are moved together because only together they gain; 1: none.",
  }),
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
      "Move the only replica of a workload too: nobody serves in its place until its successor is ready. Mode paper always does.",
  }),
  countOwnUse: flag({
    default: false,
    description:
      "Mode paper: what a pod uses counts as available on its own node. Without it a pod that uses much goes to and fro between equal nodes, as by the paper's rule.",
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
  moveDeadlineMs: duration({
    default: 5 * 60_000,
    min: 10_000,
    max: 3_600_000,
    description:
      "A replacement that isn't ready after so long isn't waited for, nor sent to the target, any more.",
  }),
  judgeAfterMs: duration({
    default: 10 * 60_000,
    min: 0,
    max: DAY_MS,
    description:
      "So long after the replacement became ready its channels are measured again: whether the move did what it was made for.",
  }),
  maxRegret: ratio({
    default: 0.5,
    description:
      "When more than this share of what moves were expected to gain didn't come, no more pods are moved for a while.",
  }),
  regretMoves: integer({
    default: 3,
    min: 1,
    max: 100,
    description:
      "Moves that must have been measured again before that may happen; the last ten count at most.",
  }),
  regretPauseMs: duration({
    default: 3_600_000,
    min: 1_000,
    max: 30 * DAY_MS,
    description: "How long; twice as long each time in a row.",
  }),
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
      return `descheduler.windows: ${(error as Error).message}`;
    }
  }
  return null;
}
