import type { Decision } from "@isochrone/topology";
import { moveStateOf } from "../model/move.ts";

type NamedDecision = Pick<Decision, "kind" | "outcome" | "binding" | "strategy">;

export function wordOf(decision: NamedDecision): string {
  const { kind } = decision;
  if (kind !== "eviction") return kind === "plan" ? "planned" : "placement";
  const state = moveStateOf(decision);
  return state === "failed" ? "move failed" : state;
}

export function badgeOf(decision: NamedDecision): string {
  if (decision.kind !== "eviction") return wordOf(decision);
  return moveStateOf(decision) === "failed" ? "bad" : "eviction";
}
