import { describe, expect, test } from "vitest";
import { ClusterGraph } from "./cluster-graph.ts";
import { declaredAreaCosts, readNetworkTopology } from "./declared-costs.ts";
import { clusterSnapshot, link, node } from "./testing/builders.ts";
import { parseClusterGraph } from "./validation.ts";

const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";

function weights(name: string, ...topologies: readonly (readonly [string, string, string, unknown])[]) {
  return {
    name,
    topologyList: topologies.map(([topologyKey, origin, destination, networkCost]) => ({
      topologyKey,
      originList: [{ origin, costList: [{ destination, networkCost, bandwidthCapacity: "1Gi" }] }],
    })),
  };
}

const objectOf = (...all: readonly object[]) => ({ spec: { configmapName: "netperf", weights: all } });

describe("a NetworkTopology", () => {
  const object = objectOf(
    weights("NetperfCosts", [ZONE, "z1", "z2", 7]),
    weights("UserDefined", [ZONE, "z1", "z2", 5], [REGION, "west", "east", 20], ["rack", "a", "b", 1]),
  );

  test("is read by the name of the weights, zones and regions apart", () => {
    expect(readNetworkTopology(object, "NetperfCosts").costs).toEqual({
      zones: [{ from: "z1", to: "z2", cost: 7 }],
      regions: [],
    });
    expect(readNetworkTopology(object, "UserDefined")).toEqual({
      costs: {
        zones: [{ from: "z1", to: "z2", cost: 5 }],
        regions: [{ from: "west", to: "east", cost: 20 }],
      },
      faults: [],
    });
  });

  test("is read by UserDefined, else its first weights, when none are named", () => {
    expect(readNetworkTopology(object).costs?.zones).toEqual([{ from: "z1", to: "z2", cost: 5 }]);
    const other = objectOf(weights("Own", [ZONE, "z1", "z2", 3]));
    expect(readNetworkTopology(other).costs?.zones).toEqual([{ from: "z1", to: "z2", cost: 3 }]);
  });

  test("without weights of that name has no costs", () => {
    expect(readNetworkTopology(object, "Other")).toEqual({ costs: null, faults: [] });
    for (const nonsense of [null, 7, {}, { spec: [] }, { spec: { weights: "no" } }])
      expect(readNetworkTopology(nonsense)).toEqual({ costs: null, faults: [] });
  });

  test.each([
    ["no number", "5", "must be a number of at least 0"],
    ["below 0", -1, "must be a number of at least 0"],
    ["not a number", Number.NaN, "must be a number of at least 0"],
  ])("loses a cost that is %s, and says where it stands", (_, cost, rule) => {
    const { costs, faults } = readNetworkTopology(
      objectOf(weights("UserDefined", [ZONE, "z1", "z2", cost], [ZONE, "z2", "z1", 4])),
    );
    expect(costs?.zones).toEqual([{ from: "z2", to: "z1", cost: 4 }]);
    const path = ["spec", "weights", 0, "topologyList", 0, "originList", 0, "costList", 0, "networkCost"];
    expect(faults).toEqual([{ path, rule, value: cost }]);
  });

  test("loses rows without a name", () => {
    const { costs, faults } = readNetworkTopology(
      objectOf(weights("UserDefined", [ZONE, "", "z2", 1], [REGION, "west", "", 2])),
    );
    expect(costs).toEqual({ zones: [], regions: [] });
    expect(faults.map(({ path }) => path.at(-1))).toEqual(["origin", "destination"]);
  });
});

describe("a graph with declared costs", () => {
  const nodes = [
    node("a", { region: "west", zone: "z1" }),
    node("b", { region: "west", zone: "z2" }),
    node("c", { region: "east", zone: "z3" }),
  ];
  const declaredCosts = {
    source: "NetworkTopology default/nt-default, UserDefined",
    unitMs: 0.5,
    zones: [{ from: "z1", to: "z2", cost: 5 }],
    regions: [{ from: "west", to: "east", cost: 20 }],
  };

  test("has them for pairs that nobody measured, in milliseconds", () => {
    const graph = ClusterGraph.fromJson({ ...clusterSnapshot(nodes, [link("a", "c", 33)]), declaredCosts });
    expect(graph.cost("a", "b")).toMatchObject({ ms: 2.5, origin: "declared" });
    expect(graph.cost("b", "c")).toMatchObject({ ms: 10, origin: "declared" });
    expect(graph.cost("a", "c")).toMatchObject({ ms: 33, origin: "measured" });
    expect(graph.declaredAreas?.zones.get("z1")?.get("z2")).toBe(5);
  });

  test("takes those that its reader was given before those of the snapshot", () => {
    const own = declaredAreaCosts({ zones: [{ from: "z1", to: "z2", cost: 9 }], regions: [] }, 1);
    const graph = new ClusterGraph({ ...clusterSnapshot(nodes, []), declaredCosts }, { declared: own });
    expect(graph.cost("a", "b")).toMatchObject({ ms: 9 });
  });

  test("is refused with a negative cost or without a unit", () => {
    const broken = (more: object) => () =>
      parseClusterGraph({ ...clusterSnapshot(nodes, []), declaredCosts: { ...declaredCosts, ...more } });
    expect(broken({ zones: [{ from: "z1", to: "z2", cost: -1 }] })).toThrow(/declaredCosts/);
    expect(broken({ unitMs: 0 })).toThrow(/declaredCosts/);
    expect(broken({})).not.toThrow();
  });
});
