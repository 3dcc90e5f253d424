import type { DomainConstraint } from "../objective/plan-problem.ts";
import { ApartRule } from "./apart-rule.ts";
import type { Rule } from "./rule.ts";
import { SpanRule } from "./span-rule.ts";
import { SpreadRule } from "./spread-rule.ts";
import { TogetherRule } from "./together-rule.ts";

export function ruleOf(constraint: DomainConstraint, podCount: number): Rule {
  switch (constraint.kind) {
    case "spread":
      return new SpreadRule(constraint, podCount);
    case "span":
      return new SpanRule(constraint, podCount);
    case "apart":
      return new ApartRule(constraint, podCount);
    case "together":
      return new TogetherRule(constraint, podCount);
    default:
      throw new TypeError(`no rule for ${String(constraint satisfies never)}`);
  }
}
