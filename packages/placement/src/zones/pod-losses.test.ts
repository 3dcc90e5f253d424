import { ClusterGraph, WorkflowGraph, type Channel } from "@isochrone/topology";
import { describe, expect, it } from "vitest";
import { channel, links, node, workload } from "../testing/problems.ts";
import { podLosses } from "./pod-losses.ts";

const AT = "2026-01-01T00:00:00.000Z";
const cluster = new ClusterGraph({
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: ["a1", "a2", "b1"].map((name) => node(name, 2_000, 1e9, { zone: name[0]! })),
  links: links(["a1", "a2", 1], ["a1", "b1", 10], ["a2", "b1", 10]),
});
const use = { cpu: 1, memory: 1 };

function losses(
  web: Readonly<Record<string, string>>,
  fields: Partial<Channel> = {},
  replicaCpu: number | null = null,
  money: Partial<Pick<Parameters<typeof podLosses>[0], "prices" | "settings">> = {},
): Record<string, number> {
  const workflow = new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: [
      workload("web", use, web),
      workload("db", { cpu: 400, memory: 1 }, { d1: "a1", d2: "a2", d3: "b1", waiting: null }),
    ],
    channels: [channel("web", "db", 1_200, fields)],
  });
  return Object.fromEntries(
    podLosses({ cluster, workflow, workload: "db", replicaCpu, settings: {}, ...money }),
  );
}

describe("what the loss of a pod costs", () => {
  it("is what the others' traffic costs then: the farthest is missed least", () => {
    // One of four replicas is pending. Three remain, two of them on nodes, 400 B/s each: from a1, to a2 and
    // b1, ...
    expect(losses({ w1: "a1" })).toEqual({
      d1: expect.closeTo(400 * (1 + 10), 6),
      d2: expect.closeTo(400 * 10, 6),
      d3: expect.closeTo(400 * 1, 6),
    });
  });

  it("is counted in money where the planner's objective is money", () => {
    // a1 and a2 are close, but a byte between them costs ten times a byte to b1.
    const perByte = Float64Array.of(0, 1e-10, 1e-11, 1e-10, 0, 1e-11, 1e-11, 1e-11, 0);
    const prices = {
      currency: "USD",
      placeOf: Int32Array.of(0, 1, 2),
      places: 3,
      perByte,
      unknown: [],
      unknownPairs: 0,
    };
    const least = (of: Record<string, number>): string | undefined =>
      Object.keys(of).toSorted((a, b) => of[a]! - of[b]!)[0];
    expect(least(losses({ w1: "a1" }, {}, null, { prices, settings: {} }))).toBe("d3");
    expect(least(losses({ w1: "a1" }, {}, null, { prices, settings: { moneyShare: 0.9 } }))).toBe("d2");
  });

  const near: Partial<Channel> = { routing: "nearest", routingScopes: ["zone"] };

  it("is more for the last one of a zone that asks", () => {
    const { d1, d2, d3 } = losses({ w1: "a1", w2: "b1" }, near);
    expect(d3).toBeGreaterThan(Math.max(d1!, d2!));
  });

  it("keeps zones that would starve: there every pod counts", () => {
    // Zone a needs 900 of 1,200 millicores and each of its two replicas may use 600: one is not enough.
    const web = { w1: "a1", w2: "a1", w3: "a2", w4: "b1" };
    const without = losses(web, near);
    const starving = losses(web, near, 800);
    const cheapest = (of: Record<string, number>): string =>
      Object.keys(of).reduce((a, b) => (of[a]! <= of[b]! ? a : b));
    expect(cheapest(without)).toBe("d2");
    expect(cheapest(starving)).toBe("d3");
  });
});
