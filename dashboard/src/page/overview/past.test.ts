import type { LinkHistory, WorkflowGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { pastOf, waysOf } from "./past.ts";

const at = (second: number): string => new Date(second * 1000).toISOString();
const history = (points: readonly (readonly [second: number, p50: number | null, loss: number])[]) =>
  ({
    points: points.map(([second, p50Ms, lossRatio]) => ({ at: at(second), p50Ms, lossRatio })),
  }) as unknown as LinkHistory;

const workflow = {
  workloads: [
    { name: "front", pods: [{ name: "f", node: "a" }] },
    {
      name: "cart",
      pods: [
        { name: "c1", node: "a" },
        { name: "c2", node: "b" },
      ],
    },
    { name: "store", pods: [{ name: "s", node: "c" }] },
  ],
  channels: [
    { source: "front", target: "cart", requestsPerSecond: 4 },
    { source: "cart", target: "store", requestsPerSecond: 8 },
    { source: "front", target: "gone", requestsPerSecond: 1 },
  ],
} as unknown as WorkflowGraphSnapshot;

test("a request goes the ways between its services' nodes, evenly over replicas, and none on its own node", () =>
  expect(waysOf(workflow)).toEqual([
    { source: "a", target: "c", calls: 1 },
    { source: "b", target: "c", calls: 1 },
    { source: "a", target: "b", calls: 0.5 },
  ]));

test("the past is the sum over the ways, unknown where one of them is", () => {
  const past = pastOf(waysOf(workflow), [
    history([
      [10, 20, 0],
      [20, 30, 0],
      [30, null, 1],
      [40, 20, 0],
    ]),
    history([
      [10, 40, 0],
      [20, 40, 0],
      [30, 40, 0],
      [40, 40, 0],
    ]),
    history([
      [10, 2, 0],
      [20, 2, 0],
      [40, 2, 0],
    ]),
  ]);
  expect(past.times).toEqual([10, 20, 30, 40]);
  expect(past.totalMs).toEqual([61, 71, null, 61]);
  expect(past.marks.map(({ at: when, kind, text }) => [when, kind, text])).toEqual([
    [30, "fault", "a → c: no answer"],
    [40, "heal", "a → c: answers again"],
  ]);
  expect(pastOf(waysOf(workflow), [null, null, null])).toEqual({ times: [], totalMs: [], marks: [] });
});

test("a delay that stays is a mark, and one that the next point doesn't confirm is none", () => {
  const way = { source: "a", target: "c", calls: 1 };
  const { marks } = pastOf(
    [way],
    [
      history([
        [10, 20, 0],
        [20, 90, 0],
        [30, 21, 0],
        [40, 22, 0],
        [50, 100, 0],
        [60, 101, 0],
        [70, 99, 0],
        [80, 20, 0],
        [90, 20, 0],
        [100, 80, 0],
      ]),
    ],
  );
  expect(marks).toEqual([
    { at: 50, kind: "fault", text: "a → c: 22 ms → 100 ms" },
    { at: 80, kind: "heal", text: "a → c: 99 ms → 20 ms" },
  ]);
});
