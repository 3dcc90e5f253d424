import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import type { Point } from "../scenario/model.ts";
import { AffinityContender, parametersOf } from "./affinity.ts";
import { ContenderError } from "./port.ts";
import { aCluster, aNode, aPoint, aWorkload, observed } from "./testing/points.ts";

const random = seededRandom(1);

describe("affinity", () => {
  const nodes = [aNode("a"), aNode("b"), aNode("c")];
  const rttMs = [
    [0, 1, 50],
    [1, 0, 50],
    [50, 50, 0],
  ];
  const point = (labels: Point["labels"]): Point =>
    aPoint(
      aCluster(nodes, rttMs),
      [aWorkload("db", [], { pinnedTo: "a" }), aWorkload("web", ["db"])],
      labels,
    );
  const nodeOfWeb = async (labels: Point["labels"]): Promise<string> =>
    (await new AffinityContender().place(point(labels), null, random)).get("web-0")!;

  test("gamma decides between the neighbour's own node and one near by", async () => {
    // On a: gamma x 100 / 2. On b: 1 / 1 ms x 100 / 2. On c: a fiftieth of b.
    expect(await nodeOfWeb({ gamma: 10 })).toBe("a");
    expect(await nodeOfWeb({ gamma: 0.1 })).toBe("b");
  });

  test("deploys once more when there is traffic to weigh, and never again", async () => {
    // Two peers of equal priority on distant nodes; only the second has traffic.
    const nodes = [aNode("a"), aNode("b")];
    const workloads = [
      aWorkload("quiet", [], { pinnedTo: "a" }),
      aWorkload("busy", [], { pinnedTo: "b" }),
      aWorkload("web", ["quiet", "busy"]),
    ];
    const point = aPoint(aCluster(nodes, 20), workloads, { alpha: 0, beta: 1 });
    const contender = new AffinityContender();
    const placement = new Map([
      ["quiet-0", "a"],
      ["busy-0", "b"],
      ["web-0", "a"],
    ]);
    const before = observed(point, [["web", "busy", 1e6]]);
    const moves = await contender.adjust(point, placement, before, random);
    expect(moves).toEqual([{ pod: "web-0", from: "a", to: "b" }]);
    expect(await contender.adjust(point, placement, before, random)).toEqual([]);
  });

  test("parameters are axes of the point, else the defaults; nonsense is refused", async () => {
    expect(parametersOf({ alpha: 0.2, users: 5 })).toEqual({ alpha: 0.2, beta: 0.5, gamma: 10 });
    await expect(nodeOfWeb({ alpha: "much" })).rejects.toThrow('alpha must be a number, got "much"');
    await expect(nodeOfWeb({ gamma: -1 })).rejects.toThrow(ContenderError);
  });
});
