import { seeded, type Draw } from "@isochrone/primitives";
import { describe, expect, test } from "vitest";
import type { DomainConstraint, PlanProblem } from "../objective/plan-problem.ts";
import { drawIndex } from "../search/draws.ts";
import { randomProblem } from "../testing/instances.ts";
import { faultsOf } from "../testing/verdict.ts";
import { ruleOf } from "./rules.ts";

const PODS = 6;
const NODES = 7;
const ROUNDS = 25;
const STEPS = 40;

function constraint(kind: DomainConstraint["kind"], draw: Draw): DomainConstraint {
  const pick = (odds: number): number[] =>
    Array.from({ length: PODS }, (_, pod) => pod).filter(() => draw() < odds);
  const base = {
    name: kind,
    domainOf: Int32Array.of(0, 0, 1, 1, 2, 2, -1),
    placed: Int32Array.from({ length: 3 }, () => (draw() < 0.3 ? drawIndex(draw, 3) : 0)),
    subjects: pick(0.6),
    members: pick(0.6),
  };
  if (kind === "spread") {
    return { ...base, kind, maxSkew: 1 + drawIndex(draw, 2), minDomains: draw() < 0.3 ? 4 : null };
  }
  if (kind === "span") return { ...base, kind, members: base.subjects, minDistinct: 1 + drawIndex(draw, 3) };
  return { ...base, kind };
}

function problemWith(rule: DomainConstraint): PlanProblem {
  const problem = randomProblem(1, { pods: PODS, nodes: NODES });
  const pods = problem.pods.map((pod) => ({ ...pod, allowed: null, demand: new Float64Array(3) }));
  return { ...problem, pods, constraints: [rule] };
}

describe.each(["spread", "span", "apart", "together"] as const)("a rule of kind %s", (kind) => {
  test("says the same as its definition, whatever was added and removed before", () => {
    const draw = seeded(kind.length);
    for (let round = 0; round < ROUNDS; round++) {
      const given = constraint(kind, draw);
      const rule = ruleOf(given, PODS);
      const concerned = [...new Set([...given.subjects, ...given.members])];
      const assignment = new Int32Array(PODS).fill(-1);
      const problem = problemWith(given);
      const holds = (): boolean => faultsOf(problem, assignment).length === 0;
      for (let step = 0; step < STEPS && concerned.length > 0; step++) {
        const pod = concerned[drawIndex(draw, concerned.length)]!;
        if (assignment[pod]! >= 0) {
          rule.remove(pod, assignment[pod]!);
          assignment[pod] = -1;
          continue;
        }
        const node = drawIndex(draw, NODES);
        const admitted = rule.admits(pod, node, true);
        assignment[pod] = node;
        const expected = { admitted: holds(), given, assignment: [...assignment] };
        expect({ admitted, given, assignment: [...assignment] }).toEqual(expected);
        // A subject never goes to a node without a domain.
        if (given.domainOf[node]! < 0 && given.subjects.includes(pod)) {
          assignment[pod] = -1;
          continue;
        }
        rule.add(pod, node);
        expect(rule.holds()).toBe(holds());
      }
    }
  });
});

test("a spread rule lets pods back one by one where the whole rule doesn't hold for the moment", () => {
  const rule = ruleOf(
    {
      kind: "spread",
      name: "zones",
      domainOf: Int32Array.of(0, 1),
      placed: Int32Array.of(0, 0),
      subjects: [0, 1, 2, 3],
      members: [0, 1, 2, 3],
      maxSkew: 1,
      minDomains: null,
    },
    4,
  );
  rule.add(0, 0);
  rule.add(1, 0);
  rule.add(2, 0);
  expect(rule.holds()).toBe(false);
  expect(rule.admits(3, 1, true)).toBe(false);
  expect(rule.admits(3, 1, false)).toBe(true);
  expect(rule.admits(3, 0, false)).toBe(false);
});

test("the first of a group that matches its own rule is free, and all others must join it", () => {
  const rule = ruleOf(
    {
      kind: "together",
      name: "group",
      domainOf: Int32Array.of(0, 1),
      placed: Int32Array.of(0, 0),
      subjects: [0, 1],
      members: [0, 1],
    },
    2,
  );
  expect(rule.admits(0, 1, true)).toBe(true);
  rule.add(0, 1);
  expect(rule.admits(1, 0, true)).toBe(false);
  expect(rule.admits(1, 1, true)).toBe(true);
});
