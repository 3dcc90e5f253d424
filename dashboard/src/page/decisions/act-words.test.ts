import { expect, test } from "vitest";
import { formatRoute, parseRoute } from "../model/route.ts";
import { actsPath, nodesOf, sentenceWithout, withPart } from "./act-words.ts";

test("a filter is part of the address, and the same after it was read again", () => {
  let filter = withPart(undefined, "workload", "we&b");
  filter = withPart(filter, "kind", "move");
  filter = withPart(filter, "within", "1h");
  expect(actsPath(filter)).toBe("api/v1/acts?workload=we%26b&kind=move&withinSeconds=3600&limit=200");
  const { view } = parseRoute("#/decisions");
  const fragment = formatRoute({
    place: { page: "decisions", kind: "decision", id: null, ...(filter === undefined ? {} : { filter }) },
    view,
  });
  expect(fragment).toBe("#/decisions?workload=we%26b&kind=move&within=1h");
  expect(parseRoute(fragment).place).toMatchObject({ filter });
  for (const name of ["workload", "kind", "within"] as const) filter = withPart(filter, name, "");
  expect(filter).toBeUndefined();
  expect(actsPath(filter)).toBe("api/v1/acts?limit=200");
});

test("an unknown kind or span is left out of the question", () => {
  expect(parseRoute("#/decisions?kind=odd").place).toEqual({ page: "decisions", kind: "decision", id: null });
  expect(actsPath({ within: "odd" })).toBe("api/v1/acts?limit=200");
});

test("nodes of an act are named once", () => {
  const pod = { name: "p", workload: null, decision: null, node: null, state: "" };
  const pods = [
    { ...pod, from: "n1", to: "n2" },
    { ...pod, from: "n1", to: null },
  ];
  expect([nodesOf({ pods }, "from"), nodesOf({ pods }, "to")]).toEqual([["n1"], ["n2"]]);
});

test.each([
  ["kept", "Kept: all 17 pods are on their nodes.", "All 17 pods are on their nodes."],
  ["kept", "Kept.", ""],
  ["nothing_moved", "Nothing moved: it is a proposal.", "It is a proposal."],
  ["missed", "It gained 3 % of 20 %.", "It gained 3 % of 20 %."],
] as const)("beside the badge %s the sentence %j says %j", (verdict, sentence, rest) =>
  expect(sentenceWithout(verdict, sentence)).toBe(rest),
);
