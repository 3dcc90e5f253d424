// Keeps the displayed plan stable: shows a plan, or withdraws its steps, only after some rounds.
import type { PlanSteps } from "./plan-steps.ts";
import type { FoundPlans, PreviousMoves } from "./plan-report.ts";
import type { WorkflowSteps } from "./workflow-steps.ts";

export interface ShownPlan {
  readonly steps: readonly ShownStep[];
  readonly challenger: (Streak & { readonly steps: PreviousMoves }) | null;
}

interface ShownStep {
  readonly moves: PreviousMoves[number];
  /** Consecutive rounds of too little gain. Null: the last round's gain sufficed. */
  readonly weak: Streak | null;
}

interface Streak {
  readonly rounds: number;
  readonly sinceMs: number;
}

interface Round {
  readonly found: FoundPlans;
  readonly nowMs: number;
  /** Rounds within one window see mostly the same samples. */
  readonly windowMs: number;
}

const WEAK_FOR_MS = 5 * 60_000;
/** Consecutive rounds, over at least one window, that change the display. As in the descheduler. */
const ROUNDS = 3;

export const NOTHING_SHOWN: ShownPlan = { steps: [], challenger: null };

export function nextShown(
  steps: WorkflowSteps,
  before: ShownPlan,
  round: Round,
): { readonly shown: PlanSteps; readonly memory: ShownPlan } {
  const kept = keptSteps(steps, before, round);
  const held = steps.again(kept.map(({ moves }) => moves));
  const fresh = freshSteps(steps, before, round);
  const isBetter = fresh.steps.length > 0 && (held.steps.length === 0 || steps.isClearlyBetter(fresh, held));
  if (!isBetter) return { shown: held, memory: { steps: kept, challenger: null } };
  const streak = longer(before.challenger, round);
  const names = fresh.steps.map((step) => steps.namesOf(step));
  if (isLong(streak, round))
    return {
      shown: fresh,
      memory: { steps: names.map((moves) => ({ moves, weak: null })), challenger: null },
    };
  return { shown: held, memory: { steps: kept, challenger: { ...streak, steps: names } } };
}

function keptSteps(steps: WorkflowSteps, before: ShownPlan, round: Round): ShownStep[] {
  const { steps: held } = steps.again(before.steps.map(({ moves }) => moves));
  return held.flatMap((step): ShownStep[] => {
    const moves = steps.namesOf(step);
    const known = before.steps.find((each) => each.moves.some(({ pod }) => pod === moves[0]!.pod));
    const weak = step.isWeak ? longer(known?.weak ?? null, round) : null;
    const isOver =
      step.gain + step.error < 0 ||
      (weak !== null && isLong(weak, round) && (step.isWorthless || isOld(weak, round)));
    return isOver ? [] : [{ moves, weak }];
  });
}

function freshSteps(steps: WorkflowSteps, { challenger }: ShownPlan, { found }: Round): PlanSteps {
  const fresh = steps.fresh(found);
  if (challenger === null) return fresh;
  const again = steps.again(challenger.steps);
  const pays = again.steps.length > 0 && !again.steps.some(({ isWeak }) => isWeak);
  return pays && !steps.isClearlyBetter(fresh, again) ? again : fresh;
}

function longer(streak: Streak | null, { nowMs }: Round): Streak {
  return streak === null ? { rounds: 1, sinceMs: nowMs } : { ...streak, rounds: streak.rounds + 1 };
}

/** Users may be about to act on a step, so noise must not remove it earlier. */
function isOld({ sinceMs }: Streak, { nowMs }: Round): boolean {
  return nowMs - sinceMs >= WEAK_FOR_MS;
}

function isLong({ rounds, sinceMs }: Streak, { nowMs, windowMs }: Round): boolean {
  return rounds >= ROUNDS && nowMs - sinceMs >= windowMs;
}
