import type { Outcome, WhatIf } from "@isochrone/placement";
import { table } from "../output/table.ts";

/** Costs in kB/s x ms, for readable numbers. */
export function whatIfText(found: WhatIf): string {
  const { today, unplanned, planned, gain, gainError, moves, withoutNode, notes } = found;
  const row = (name: string, outcome: Outcome) => [
    name,
    outcome.network / 1_000,
    outcome.meanRttMs,
    outcome.perMonth === null ? null : `${outcome.perMonth.toFixed(2)} ${outcome.currency}`,
    outcome.podsWithoutNode,
    outcome.unknownBytesPerSecond / 1_000,
    outcome.unpricedBytesPerSecond / 1_000,
  ];
  const head = [
    "",
    "network (kB/s x ms)",
    "mean round trip (ms)",
    "money per month",
    "pods without a node",
    "unknown cost (kB/s)",
    "unknown price (kB/s)",
  ];
  const outcomes = [
    row("today", today),
    row("nothing replanned", unplanned),
    row("with the planner's plan", planned),
  ];
  const lines = moves.map((move) => [
    move.pod,
    move.from ?? "(none)",
    move.unplanned ?? "(none)",
    move.planned ?? "(none)",
    move.must ? "must move" : null,
  ]);
  const kilo = (cost: number): string => String(Number((cost / 1_000).toPrecision(3)));
  return [
    table(head, outcomes),
    ...(gain > 0 ? [`The plan's moves save ${kilo(gain)} +- ${kilo(gainError)} kB/s x ms.`] : []),
    ...(lines.length === 0
      ? ["", "No pod would be elsewhere."]
      : ["", table(["pod", "today", "nothing replanned", "with the plan", ""], lines)]),
    ...withoutNode.map(({ pod, reason }) => `${pod} has no node: ${reason}`),
    ...notes,
  ].join("\n");
}
