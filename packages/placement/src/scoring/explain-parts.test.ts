import { expect, test } from "vitest";
import { createStrategy } from "../profile.ts";
import { handWorked, node, problem, workload } from "../testing/problems.ts";

const strategy = createStrategy({ strategy: "resource-network" });

test("nodes of the same highest score are called a tie, and named", () => {
  const alike = (count: number) => Array.from({ length: count }, (_, index) => node(`n${index}`, 1_000, 1e9));
  const own = workload("p", { cpu: 500, memory: 2e8 }, { "p-1": null });
  const few = strategy.score(problem([...alike(3), node("small", 1, 1)], [], [own], [])).explanation
    .sentences;
  expect(few.slice(0, 2)).toEqual([
    "3 of the 4 nodes tie at the highest score, 75: n0, n1 and n2.",
    "Nothing told them apart; n0 comes first by its name alone.",
  ]);
  const many = strategy.score(problem([...alike(9), node("small", 1, 1)], [], [own], [])).explanation;
  expect(many.sentences[0]).toBe(
    "9 of the 10 nodes tie at the highest score, 75: n0, n1, n2, n3, n4 and 4 more.",
  );
  const all = strategy.score(problem(alike(9), [], [], [])).explanation.sentences;
  expect(all[0]).toBe("All 9 nodes tie at score 50.");
});

test("a node that may not be chosen is no part of a tie", () => {
  const nodes = ["a", "b", "c"].map((name) => node(name, 1_000, 1e9));
  const infeasible = new Map([["b", "refused"]]);
  const { sentences } = strategy.score(problem(nodes, [], [], [], { infeasible })).explanation;
  expect(sentences[0]).toBe("2 of the 3 nodes tie at the highest score, 50: a and c.");
});

test("a lead, however small, is none", () => {
  const { sentences } = strategy.score(handWorked()).explanation;
  expect(sentences[0]).toMatch(/^n2 has the highest score, .*, before n1 with /);
});
