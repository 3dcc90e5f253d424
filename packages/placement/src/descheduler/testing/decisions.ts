import { decideMoves } from "../decide.ts";
import type { DescheduleDecision, DescheduleInput, DescheduleRow, MoveRules } from "../deschedule-input.ts";
import { NO_MEMORY } from "../memory.ts";
import { RULES } from "./shop.ts";
import type { Shop } from "./shop.ts";

export const HEALTHY = { pods: 20, unreadyPods: 0, nodes: 4, unreadyNodes: 0 };

export function inputOf(
  of: Shop,
  rules: Partial<MoveRules> = {},
  more: Partial<DescheduleInput> = {},
): DescheduleInput {
  const input = { nowMs: 0, rules: { ...RULES, ...rules }, workflows: [of.workflow], health: HEALTHY };
  return { ...input, memory: NO_MEMORY, ...more };
}

export const decide = (...question: Parameters<typeof inputOf>): DescheduleDecision =>
  decideMoves(inputOf(...question));

export const moved = ({ moves }: DescheduleDecision): string[] =>
  moves.map(({ pod, from, to }) => `${pod.name} ${from}>${to}`);
export const rowOf = ({ rows }: DescheduleDecision, pod: string): DescheduleRow | undefined =>
  rows.find((row) => row.pod === pod);
