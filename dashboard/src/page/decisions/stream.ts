// Decisions and plans as one stream, the newest first. Pure.
import type { Decision } from "@isochrone/topology";
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

/** What the decision is called. */
export function wordOf({ kind }: Pick<Decision, "kind">): string {
  return kind === "eviction" ? "eviction" : kind === "plan" ? "planned" : "placement";
}
