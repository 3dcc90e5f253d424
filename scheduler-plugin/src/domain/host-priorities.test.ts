import { node } from "@isochrone/placement/testing";
import { ClusterGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { equalPriorities, HostPriorities, LISTED_IN_FULL, priorityOf } from "./host-priorities.ts";

test("the best node has 10, and steps are finest near it", () => {
  const scores = [90, 89.5, 88, 85, 80, 65, 40, 0];
  expect(scores.map((score) => priorityOf(score, 90))).toEqual([10, 9, 9, 8, 7, 5, 3, 1]);
});

test("an integer from 0 to 10 that never puts a worse node before a better one", () => {
  for (const best of [0, 37.5, 100]) {
    let last = 10;
    for (let score = best; score >= 0; score -= 0.1) {
      const priority = priorityOf(score, best);
      expect(Number.isInteger(priority) && priority >= 0 && priority <= last).toBe(true);
      last = priority;
    }
  }
  expect(priorityOf(0, 100)).toBe(0);
});

const MANY = LISTED_IN_FULL + 6;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `node-${index}`);

function priorities(of: readonly string[]): HostPriorities {
  const nodes = of.map((name) => node(name, null, null));
  return new HostPriorities(
    new ClusterGraph({ version: 1, observedAt: "", windowSeconds: 30, nodes, links: [] }),
  );
}

/** Reads an answer as kube-scheduler does: 0 for absent nodes. */
function read(answer: string | Uint8Array, asked: readonly string[]): number[] {
  const text = typeof answer === "string" ? answer : new TextDecoder().decode(answer);
  const listed = JSON.parse(text) as { Host: string; Score: number }[];
  expect(listed.every(({ Score }) => Number.isInteger(Score) && Score >= 0 && Score <= 10)).toBe(true);
  const byHost = new Map(listed.map(({ Host, Score }) => [Host, Score]));
  expect(byHost.size).toBe(listed.length);
  return asked.map((name) => byHost.get(name) ?? 0);
}

describe("the answer", () => {
  const column = (score: (row: number) => number, count = MANY): Float64Array =>
    Float64Array.from({ length: count }, (_, row) => score(row));

  test.each([
    ["half of them best", (row: number) => (row % 2 === 0 ? 100 : 0)],
    ["all levels", (row: number) => (100 * row) / MANY],
    ["none at the bottom of the scale", (row: number) => 60 + (row % 30)],
    ["the first and the last left out", (row: number) => (row > 2 && row < MANY - 2 ? 80 : 10)],
    ["one above all others", (row: number) => (row === 40 ? 100 : 0)],
  ])("says of a long list by how much nodes are above the lowest: %s", (_, score) => {
    const asked = names(MANY);
    const answers = priorities(asked);
    const ids = answers.graph.idsOf(asked);
    const scores = column(score);
    const best = Math.max(...scores);
    const full = asked.map((_name, row) => priorityOf(scores[row]!, best));
    const lowest = Math.min(...full);
    // The first answer is text, the second fills the template, the third reuses it.
    for (let time = 0; time < 3; time++) {
      const answer = answers.answer(asked, ids, scores);
      expect(read(answer, asked)).toEqual(full.map((priority) => priority - lowest));
      const listed = full.filter((priority) => priority > lowest).length;
      const text = typeof answer === "string" ? answer : new TextDecoder().decode(answer);
      expect(JSON.parse(text)).toHaveLength(listed);
    }
  });

  test("is [] for equal nodes, at any time", () => {
    const asked = names(MANY);
    const answers = priorities(asked);
    const ids = answers.graph.idsOf(asked);
    const equal = column(() => 37);
    expect(answers.answer(asked, ids, equal)).toBe("[]");
    for (let time = 0; time < 2; time++)
      expect(new TextDecoder().decode(answers.answer(asked, ids, equal) as Uint8Array)).toBe("[]");
    expect(equalPriorities(asked)).toBe("[]");
  });

  test("lists a short list in full, with the priorities as they are", () => {
    const asked = names(LISTED_IN_FULL);
    const answers = priorities(asked);
    const ids = answers.graph.idsOf(asked);
    const scores = column((row) => (row === 0 ? 100 : 50), LISTED_IN_FULL);
    for (let time = 0; time < 3; time++) {
      expect(read(answers.answer(asked, ids, scores), asked)).toEqual([
        10,
        ...Array.from({ length: LISTED_IN_FULL - 1 }, () => priorityOf(50, 100)),
      ]);
    }
    expect(JSON.parse(equalPriorities(asked))).toHaveLength(LISTED_IN_FULL);
    expect(answers.answer([], new Int32Array(0), new Float64Array(0))).toBe("[]");
  });

  test("names that the graph doesn't hold, or that JSON must escape, are listed as they came", () => {
    const asked = [...names(MANY), 'strange "one"', "ünknown"];
    const answers = priorities([...names(MANY - 1), `node-${MANY - 1}`, 'strange "one"']);
    const ids = answers.graph.idsOf(asked);
    const scores = column((row) => row, asked.length);
    const best = scores.at(-1)!;
    const full = asked.map((_, row) => priorityOf(scores[row]!, best));
    for (let time = 0; time < 2; time++)
      expect(read(answers.answer(asked, ids, scores), asked)).toEqual(full.map((p) => p - Math.min(...full)));
  });
});
