// Parts of the scheduler-plugin that act, and the moves of a dry run.
import type { ExclusionRules } from "@isochrone/placement";
import type { ActList } from "@isochrone/topology";
import type { Descheduler } from "../descheduler/descheduler.ts";
import { emptyReport } from "../descheduler/report.ts";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";
import { exclusionRulesOf } from "../proposals/exclusion-rules.ts";

export interface Acting {
  /** Rules by which proposals exclude pods; null: there are no proposals. */
  readonly rules: ExclusionRules | null;
  readonly isPlanning: boolean;
  /** Null: it is off. */
  readonly descheduler: Pick<Descheduler, "report"> | null;
}

/** @param parts null: the part is off */
export function actingOf(
  settings: { readonly descheduler?: DeschedulerConfig },
  parts: readonly [planner: object | null, proposer: object | null, descheduler: Acting["descheduler"]],
): Acting {
  const [planner, proposer, descheduler] = parts;
  return { rules: proposer && exclusionRulesOf(settings), isPlanning: planner !== null, descheduler };
}

const MOST_PODS = 100;

/** Says which parts are on, and what a dry run would move. */
export function actingView({ isPlanning, descheduler }: Acting): NonNullable<ActList["acting"]> {
  const { mode, lastRunAt, halt, pods } = descheduler?.report() ?? emptyReport("off");
  const isDry = mode === "dry-run";
  const moves = isDry ? pods.filter(({ decision }) => decision === "move") : [];
  return {
    planner: isPlanning,
    descheduler: mode,
    dryRun: !isDry
      ? null
      : {
          at: lastRunAt,
          halt: halt?.detail ?? null,
          moves: moves.length,
          pods: moves.slice(0, MOST_PODS).map(({ namespace, name, node, target, detail }) => ({
            namespace,
            name,
            from: node,
            to: target,
            detail,
          })),
        },
  };
}
