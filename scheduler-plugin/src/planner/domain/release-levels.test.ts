import { WorkflowGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { workflowSnapshot } from "../../testing/graphs.ts";
import { appGroupLevels, byLevel, channelLevels } from "./release-levels.ts";
import type { Releasable } from "./release-levels.ts";

/** `edges`: "a b" for a -> b. */
function graph(workloads: string, ...edges: string[]): WorkflowGraph {
  const snapshot = workflowSnapshot();
  const [workload] = snapshot.workloads;
  const [channel] = snapshot.channels;
  return new WorkflowGraph({
    ...snapshot,
    workloads: workloads.split(" ").map((name) => ({ ...workload!, name })),
    channels: edges.map((edge) => {
      const [source, target] = edge.split(" ") as [string, string];
      return { ...channel!, source, target };
    }),
  });
}
const named = (...workloads: string[]): Releasable => ({ workloads, selector: null });
const levels = (of: WorkflowGraph): Record<string, number | null> => {
  const levelOf = channelLevels(of);
  return Object.fromEntries(of.workloads.map(({ name }) => [name, levelOf(named(name))]));
};

describe("levels of release", () => {
  test("callers are before what they call, by the longest way", () => {
    expect(levels(graph("a b c d", "a b", "b c", "a c", "c d"))).toEqual({ a: 0, b: 1, c: 2, d: 3 });
  });

  test("who has no channels is first; a channel that is there twice, or to oneself, is none more", () => {
    expect(levels(graph("a b c", "a b", "a b", "b b"))).toEqual({ a: 0, b: 1, c: 0 });
  });

  test("a cycle, and what is behind it, comes last", () => {
    expect(levels(graph("a b c d", "a b", "b c", "c b", "c d"))).toEqual({ a: 0, b: 1, c: 1, d: 1 });
    expect(levels(graph("a b", "a b", "b a"))).toEqual({ a: 0, b: 0 });
  });

  test("an AppGroup's order counts by selector, of pods without one by name; nonsense in it doesn't", () => {
    const levelOf = appGroupLevels({
      topologyOrder: [
        { workload: { selector: "P1", name: "P1-deployment" }, index: 1 },
        { workload: { selector: "P2" }, index: 2 },
        { workload: { selector: "P3" }, index: "x" },
        null,
      ],
    })!;
    expect(
      [["P1"], ["P1-deployment"], ["nobody", "P2"], ["P3"], []].map((names) => levelOf(named(...names))),
    ).toEqual([1, 1, 2, null, null]);
    expect(levelOf({ workloads: ["P2"], selector: "P1" })).toBe(1);
    expect(levelOf({ workloads: ["P1-deployment"], selector: "P9" })).toBeNull();
    expect(appGroupLevels({})).toBeNull();
    expect(appGroupLevels({ topologyOrder: [] })).toBeNull();
    expect(appGroupLevels(null)).toBeNull();
  });

  test("pods of a level keep their order, and unknown workloads come last", () => {
    const pods = ["c1", "b1", "x1", "b2", "a1"];
    const levelOf = channelLevels(graph("a b c", "a b", "b c"));
    expect(byLevel(pods, (pod) => named(pod[0]!), levelOf)).toEqual([["a1"], ["b1", "b2"], ["c1"], ["x1"]]);
  });
});
