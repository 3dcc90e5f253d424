import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { changeInWords, predict, withMove } from "./what-if.ts";

const DISTANCES: Readonly<Record<string, number>> = { "a b": 10, "a c": 100 };
const costs = (source: string, target: string): number =>
  source === target ? 0 : (DISTANCES[`${source} ${target}`] ?? Number.NaN);
const workflow = {
  workloads: [
    { name: "front", pods: [{ name: "front-1", node: "a" }] },
    { name: "store", pods: [{ name: "store-1", node: "c" }] },
  ],
  channels: [{ source: "front", target: "store", requestsPerSecond: 4, bytesPerSecond: 1 }],
} as unknown as WorkflowGraphSnapshot;

describe("a prediction", () => {
  test("is today's p95 and the difference of the slowest chain", () => {
    const there = predict(workflow, [{ pod: "store-1", node: "b" }], costs, 130);
    expect(there).toMatchObject({ today: { totalMs: 100 }, moved: { totalMs: 10 } });
    expect(there!.p95Ms).toEqual({ today: 130, moved: 40 });
  });

  test("has no p95 where none is measured, and is none where no way is known", () => {
    expect(predict(workflow, [{ pod: "store-1", node: "b" }], costs, null)!.p95Ms).toBeNull();
    expect(predict(workflow, [{ pod: "store-1", node: "nowhere" }], costs, 130)).toBeNull();
    const apart = predict(workflow, [], () => Number.POSITIVE_INFINITY, 130);
    expect(apart!.p95Ms).toBeNull();
  });

  test("says what changes", () => {
    expect(changeInWords(100, 10)).toBe("90 ms less");
    expect(changeInWords(10, 12.5)).toBe("2.5 ms more");
    expect(changeInWords(10, 10.01)).toBe("as today");
    expect(changeInWords(10, Number.POSITIVE_INFINITY)).toBe("unreachable");
  });
});

test("a pod is moved once, and not at all once it is back where it runs", () => {
  const once = withMove(workflow, [], { pod: "store-1", node: "b" });
  const twice = withMove(workflow, once, { pod: "store-1", node: "a" });
  expect(twice).toEqual([{ pod: "store-1", node: "a" }]);
  expect(withMove(workflow, twice, { pod: "store-1", node: "c" })).toEqual([]);
});
