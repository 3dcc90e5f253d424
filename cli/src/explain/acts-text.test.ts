import type { Act, ActList } from "@isochrone/topology";
import { expect, test } from "vitest";
import { actsText } from "./acts-text.ts";

const act = (fields: Partial<Act>): Act => ({
  id: "a",
  kind: "move",
  at: "2026-01-01T00:00:00Z",
  namespace: "shop",
  workflow: "shop/shop",
  workloads: ["web"],
  pods: [{ name: "web-1", workload: "web", decision: "a", from: "x", to: "y", node: "y", state: "moved" }],
  planned: 1,
  expected: { beforeMs: 20, afterMs: 4, gainRatio: 0.8, gainErrorRatio: null },
  counted: null,
  verdict: "kept",
  sentence: "Kept: 20 to 5 ms.",
  because: null,
  ...fields,
});
const list = (fields: Partial<ActList>): ActList => ({ acts: [], leftOut: 0, isCut: false, ...fields });

test("acts are a row each, with nodes, figures and the promise", () => {
  const proposal = act({
    kind: "proposal",
    pods: [],
    planned: 3,
    expected: { beforeMs: null, afterMs: null, gainRatio: 0.25, gainErrorRatio: null },
    counted: { beforeMs: 10, afterMs: 12, gainRatio: -0.2, pods: 3 },
    sentence: "Nothing moved.",
  });
  const lines = actsText(list({ acts: [act({}), proposal], leftOut: 4 }), "shop/web").split("\n");
  expect(lines[1]!.split(/ {2,}/)).toEqual([
    "2026-01-01T00:00:00Z",
    "move",
    "web-1",
    "x",
    "y",
    "20.0 -> 4.0 ms",
    "–",
    "Kept: 20 to 5 ms.",
  ]);
  expect(lines[2]).toMatch(/proposal +3 pods +– +– +25 % less +10\.0 -> 12\.0 ms +Nothing moved\./);
  expect(lines.at(-1)).toBe("4 older acts left out");
});

test("nothing that was done is said, with what is off", () => {
  const dryRun = { at: null, halt: null, moves: 2, pods: [] };
  expect(
    actsText(list({ acting: { planner: false, descheduler: "off", dryRun: null } }), "shop/web"),
  ).toMatch(/nothing was decided about shop\/web: [^]*planner\.enabled.*descheduler\.mode/);
  expect(actsText(list({ acting: { planner: true, descheduler: "dry-run", dryRun } }), "shop/web")).toMatch(
    /\n\na dry run would move 2 pods \(descheduler\.mode: dry-run\)$/,
  );
});
