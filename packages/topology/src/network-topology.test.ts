import { describe, expect, test } from "vitest";
import { NETWORK_TOPOLOGY_KEYS, networkTopologyWeights } from "./network-topology.ts";

const { zone: ZONE, region: REGION, segment: SEGMENT } = NETWORK_TOPOLOGY_KEYS;

const cost = (destination: unknown, networkCost: unknown, more: object = {}) => ({
  destination,
  networkCost,
  ...more,
});
const topology = (topologyKey: string, origin: unknown, ...costList: readonly unknown[]) => ({
  topologyKey,
  originList: [{ origin, costList }],
});
const objectOf = (...weights: readonly unknown[]) => ({ spec: { weights } });

describe("weights of a NetworkTopology", () => {
  test("are entries of regions, zones and segments, with bandwidths as they are written", () => {
    const object = objectOf(
      { name: "UserDefined", topologyList: [topology(ZONE, "z1", cost("z2", 9))] },
      {
        name: "NetperfCosts",
        topologyList: [
          topology(REGION, "west", cost("east", 20, { bandwidthCapacity: "1G", bandwidthAllocated: "5M" })),
          topology(SEGMENT, "s1", cost("s2", 0)),
          topology("rack", "a", cost("b", 1)),
        ],
      },
    );
    expect(networkTopologyWeights(object, "NetperfCosts")).toEqual({
      index: 1,
      entries: [
        {
          area: "region",
          origin: "west",
          destination: "east",
          networkCost: 20,
          bandwidthCapacity: "1G",
          bandwidthAllocated: "5M",
        },
        { area: "segment", origin: "s1", destination: "s2", networkCost: 0 },
      ],
      faults: [],
    });
    expect(networkTopologyWeights(object)?.index).toBe(0);
    expect(networkTopologyWeights(object, "Other")).toBeNull();
  });

  test("may have the field names of KEP-260's text, as upstream's own example does", () => {
    const object = objectOf({
      name: "UserDefined",
      costList: [
        {
          topologyKey: REGION,
          originCosts: [
            { origin: "us-west-1", costs: [cost("us-east-1", 20), cost("eu-1", -1)] },
            { origin: 7, costs: [] },
          ],
        },
      ],
    });
    const found = networkTopologyWeights(object)!;
    expect(found.entries).toMatchObject([
      { area: "region", origin: "us-west-1", destination: "us-east-1", networkCost: 20 },
    ]);
    expect(found.faults.map(({ path }) => path.join("."))).toEqual([
      "spec.weights.0.costList.0.originCosts.0.costs.1.networkCost",
      "spec.weights.0.costList.0.originCosts.1.origin",
    ]);
  });

  test("have the place in spec.weights that a patch names, whatever else stands there", () => {
    const object = objectOf(null, "no", { name: "NetperfCosts" });
    expect(networkTopologyWeights(object, "NetperfCosts")).toEqual({ index: 2, entries: [], faults: [] });
  });

  test.each([null, 7, {}, { spec: [] }, { spec: { weights: "no" } }, { spec: { weights: [] } }])(
    "there are none in %j",
    (object) => expect(networkTopologyWeights(object)).toBeNull(),
  );

  test.each([
    ["a cost that is no number", cost("z2", "5"), "networkCost", "5"],
    ["a cost below 0", cost("z2", -1), "networkCost", -1],
    ["a destination without a name", cost("", 1), "destination", ""],
    ["a line that is no object", 7, "destination", undefined],
  ])("lose %s, and say where it stands", (_, line, field, value) => {
    const object = objectOf({ topologyList: [topology(ZONE, "z1", line, cost("z3", 4))] });
    const found = networkTopologyWeights(object)!;
    expect(found.entries).toMatchObject([{ destination: "z3", networkCost: 4 }]);
    const path = ["spec", "weights", 0, "topologyList", 0, "originList", 0, "costList", 0, field];
    expect(found.faults).toMatchObject([{ area: "zone", path, value }]);
  });
});
