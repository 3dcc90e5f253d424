import { describe, expect, test } from "vitest";
import { SnapshotError } from "../errors.ts";
import { parseFlowPlan, type FlowPlan, type PlannedFlow } from "./flow-plan.ts";

const neighbour = (node: string): FlowPlan["neighbours"][number] => ({
  node,
  address: "10.0.0.2",
  capacityBitsPerSecond: 1e7,
});

const flow = (fields: Partial<PlannedFlow> = {}): PlannedFlow => ({
  id: "shop/cameras/camera->detector",
  owner: { kind: "StreamJob", namespace: "shop", name: "cameras" },
  protocol: "tcp",
  source: { node: "a", address: "10.1.0.1", port: null },
  target: { node: "c", address: "10.3.0.1", port: 5001 },
  next: "b",
  previous: null,
  routed: true,
  bitsPerSecond: 2e6,
  ...fields,
});

const plan = (fields: Partial<FlowPlan> = {}): FlowPlan => ({
  version: "1f",
  node: "a",
  epoch: "one",
  generation: 3,
  neighbours: [neighbour("b")],
  flows: [flow()],
  ...fields,
});
const end = (fields: Partial<PlannedFlow["source"]>): PlannedFlow["source"] => ({
  ...flow().target,
  ...fields,
});

describe("a flow plan from JSON", () => {
  test("passes unchanged when it follows the schema", () => {
    const good = plan({
      neighbours: [{ ...neighbour("b"), capacityBitsPerSecond: null }],
      flows: [
        flow(),
        flow({ id: "shop/cameras/camera->detector2", target: end({ port: 5002 }) }),
        flow({
          id: "x",
          target: { node: "a", address: "fd00::1", port: null },
          source: { node: "b", address: "fd00::2", port: 7 },
          next: null,
          previous: "b",
        }),
      ],
    });
    expect(parseFlowPlan(JSON.parse(JSON.stringify(good)))).toEqual(good);
  });

  test.each<[string, Partial<Record<keyof FlowPlan, unknown>>, RegExp]>([
    ["no list", { flows: undefined }, /flow plan.*flows/],
    ["a generation below 0", { generation: -1 }, /generation .*0, got -1/],
    ["a rate of 0", { flows: [flow({ bitsPerSecond: 0 })] }, /flows\[0\]\.bitsPerSecond .* got 0/],
    ["a negative rate", { flows: [flow({ bitsPerSecond: -1 })] }, /flows\[0\]\.bitsPerSecond .* got -1/],
    ["a rate of NaN", { flows: [flow({ bitsPerSecond: NaN })] }, /flows\[0\]\.bitsPerSecond .* got NaN/],
    [
      "a rate beyond 2^53 - 1",
      { flows: [flow({ bitsPerSecond: 2 ** 53 })] },
      /flows\[0\]\.bitsPerSecond .* got 9007199254740992/,
    ],
    [
      "a capacity of 0",
      { neighbours: [{ ...neighbour("b"), capacityBitsPerSecond: 0 }] },
      /neighbours\[0\]\.capacityBitsPerSecond .* got 0/,
    ],
    ["a port of 0", { flows: [flow({ target: end({ port: 0 }) })] }, /flows\[0\]\.target\.port .* got 0/],
    [
      "a name for an address",
      { flows: [flow({ target: end({ address: "host; flush ruleset" }) })] },
      /flows\[0\]\.target\.address must be an IPv4 or IPv6 address .* got "host; flush ruleset"/,
    ],
    [
      "an address with a zone",
      { neighbours: [{ ...neighbour("b"), address: "fe80::1%eth0" }] },
      /neighbours\[0\]\.address .*without a zone, got "fe80::1%eth0"/,
    ],
    [
      "two IP families",
      { flows: [flow({ target: end({ address: "fd00::1" }) })] },
      /target\.address must be of the source's IP family, got "fd00::1"/,
    ],
    ["an id with a space", { flows: [flow({ id: "a b" })] }, /flows\[0\]\.id .* got "a b"/],
    [
      "two flows of one id",
      { flows: [flow(), flow({ target: end({ port: 1 }) })] },
      /flows\[1\]\.id must be un/,
    ],
    [
      "two flows of the same packets",
      { flows: [flow(), flow({ id: "x" })] },
      /flows\[1\] must not be of the same/,
    ],
    [
      "two neighbours of one name",
      { neighbours: [neighbour("b"), neighbour("b")] },
      /neighbours\[1\]\.node must/,
    ],
    ["itself as neighbour", { neighbours: [neighbour("a")] }, /neighbours\[0\]\.node must be another node/],
    [
      "a next that is no neighbour",
      { flows: [flow({ next: "z" })] },
      /next must be one of neighbours, got "z"/,
    ],
    [
      "no next away from the target",
      { flows: [flow({ next: null })] },
      /next must be null where the target is/,
    ],
    [
      "a previous at the source",
      { flows: [flow({ previous: "b" })] },
      /previous must be null where the source/,
    ],
    [
      "a way back",
      { flows: [flow({ source: { ...flow().source, node: "z" }, previous: "b" })] },
      /next must differ from previous/,
    ],
    ["both ends on one node", { flows: [flow({ target: end({ node: "a" }) })] }, /target\.node must differ/],
    ["too many flows", { flows: Array.from({ length: 5_001 }, () => flow()) }, /flow plan flows /],
  ])("is refused for %s, with path, rule and value", (_, fields, message) => {
    expect(() => parseFlowPlan({ ...plan(), ...fields })).toThrow(SnapshotError);
    expect(() => parseFlowPlan({ ...plan(), ...fields })).toThrow(message);
  });

  test.each([[null], [[]], ["text"], [7]])("is refused when it is %j", (json) => {
    expect(() => parseFlowPlan(json)).toThrow(SnapshotError);
  });
});
