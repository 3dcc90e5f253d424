import type { Channel, Workload } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { channelCosts, totalCost, withMoves } from "./costs.ts";

const workload = (name: string, ...nodes: (string | null)[]): Workload =>
  ({ name, pods: nodes.map((node, index) => ({ name: `${name}-${index}`, node })) }) as unknown as Workload;
const channel = (source: string, target: string, bytesPerSecond: number | null): Channel =>
  ({ source, target, bytesPerSecond, requestsPerSecond: 1 }) as unknown as Channel;
const between = (a: string, b: string): number =>
  a === b ? 0 : a === "far" || b === "far" ? 100 : b === "unknown" ? Number.NaN : 10;

describe("costs of channels", () => {
  const workloads = [
    workload("a", "n1"),
    workload("b", "n2", "far"),
    workload("c", "unknown", null),
    workload("d", "n1"),
  ];

  test("are traffic times the mean cost between the pods, the dearest first", () => {
    const costs = channelCosts(
      {
        workloads,
        channels: [
          channel("a", "d", 1e9),
          channel("a", "b", 100),
          channel("a", "c", 5),
          channel("b", "a", null),
        ],
      },
      between,
    );
    expect(costs.map(({ channel: { target }, ms, cost }) => [target, ms, cost])).toEqual([
      ["b", 55, 5500],
      ["d", 0, 0],
      ["c", Number.NaN, Number.NaN],
      ["a", 55, Number.NaN],
    ]);
    expect(totalCost(costs)).toEqual({ total: 5500, unknown: 2 });
  });

  test("without traffic are nothing, even where nobody can be reached", () => {
    const costs = channelCosts(
      { workloads, channels: [channel("a", "b", 0)] },
      () => Number.POSITIVE_INFINITY,
    );
    expect(costs[0]!.cost).toBe(0);
  });

  test("name the pair of nodes that is the furthest apart, and none on one node", () => {
    const costs = channelCosts(
      { workloads, channels: [channel("a", "b", 1), channel("a", "d", 1), channel("a", "c", 1)] },
      between,
    );
    const pairs = new Map(costs.map(({ channel: { target }, pair }) => [target, pair]));
    expect(pairs.get("b")).toEqual({ source: "n1", target: "far" });
    expect([pairs.get("d"), pairs.get("c")]).toEqual([null, null]);
  });

  test("are those of a plan with its pods where it takes them, and the rest where they are", () => {
    const workflow = { workloads, channels: [channel("a", "b", 100)] };
    const moves = [{ name: "b-1", workload: "b", node: "n1" }];
    const planned = withMoves(workflow, moves);
    expect(planned.workloads[1]!.pods.map(({ node }) => node)).toEqual(["n2", "n1"]);
    expect(channelCosts(planned, between)[0]!.ms).toBe(5);
    expect(withMoves(workflow, [{ name: "b-1", workload: "a", node: "n1" }])).toEqual(workflow);
  });
});
