// Decisions and plans as one stream, the newest first. Pure.
import type { Decision } from "@isochrone/topology";
import { moveStateOf } from "../model/move.ts";
import type { Plan } from "../model/plan.ts";

export type Entry =
  | { readonly kind: "decision"; readonly at: string; readonly id: string; readonly decision: Decision }
  | { readonly kind: "plan"; readonly at: string; readonly id: string; readonly plan: Plan };

export const FILTERS = ["all", "placements", "evictions", "plans"] as const;
export type Filter = (typeof FILTERS)[number];

export function streamOf(decisions: readonly Decision[], plans: readonly Plan[], filter: Filter): Entry[] {
  const entries: Entry[] = [
    ...decisions
      .filter(
        ({ kind }) =>
          filter === "all" ||
          (filter === "evictions" ? kind === "eviction" : filter === "placements" && kind !== "eviction"),
      )
      .map((decision) => ({ kind: "decision", at: decision.at, id: decision.id, decision }) as const),
    ...(filter === "all" || filter === "plans"
      ? plans.map((plan) => ({ kind: "plan", at: plan.at, id: plan.id, plan }) as const)
      : []),
  ];
  return entries.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

type NamedDecision = Pick<Decision, "kind" | "outcome" | "binding" | "strategy">;

/** What the decision is called; a move by how far it has come. */
export function wordOf(decision: NamedDecision): string {
  const { kind } = decision;
  if (kind !== "eviction") return kind === "plan" ? "planned" : "placement";
  const state = moveStateOf(decision);
  return state === "failed" ? "move failed" : state;
}

/** Class of its badge. */
export function badgeOf(decision: NamedDecision): string {
  if (decision.kind !== "eviction") return wordOf(decision);
  return moveStateOf(decision) === "failed" ? "bad" : "eviction";
}
