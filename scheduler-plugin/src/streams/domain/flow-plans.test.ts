import { parseFlowPlans } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { contentsOf, FlowPlans, type AddressedFlow } from "./flow-plans.ts";

const NODES = ["a", "b", "c"];
const AROUND = {
  nodes: NODES,
  addressOf: (node: string) => ({ a: "10.0.0.1", b: "10.0.0.2", c: "10.0.0.3" })[node] ?? null,
  capacityOf: (source: string, target: string) => (`${source}${target}` === "ab" ? 10e6 : null),
};

function flow(id: string, route: readonly string[], bitsPerSecond = 1e6): AddressedFlow {
  return {
    id: `site/gate/${id}`,
    owner: { kind: "StreamJob", namespace: "site", name: "gate" },
    source: { node: route[0]!, address: "10.1.0.1", port: null },
    target: { node: route.at(-1)!, address: `10.1.0.${2 + id.length}`, port: 7000 },
    route,
    bitsPerSecond,
  };
}

describe("flow plans", () => {
  test("tell each node on a route whom to send to, and from whom flows come; unknown capacities are null", () => {
    const plans = new FlowPlans("e1");
    plans.publish(contentsOf([flow("x", ["a", "b", "c"]), flow("yy", ["a", "b"])], AROUND));
    const [a, b, c] = parseFlowPlans({ plans: plans.all() });
    expect(a).toMatchObject({
      node: "a",
      epoch: "e1",
      generation: 1,
      neighbours: [{ node: "b", address: "10.0.0.2", capacityBitsPerSecond: 10e6 }],
      flows: [
        { id: "site/gate/x", previous: null, next: "b", routed: true },
        { id: "site/gate/yy", previous: null, next: "b", routed: false },
      ],
    });
    expect(b).toMatchObject({
      neighbours: [
        { node: "a", address: "10.0.0.1", capacityBitsPerSecond: null },
        { node: "c", address: "10.0.0.3", capacityBitsPerSecond: null },
      ],
      flows: [
        { previous: "a", next: "c" },
        { previous: "a", next: null },
      ],
    });
    expect(c).toMatchObject({ neighbours: [{ node: "b" }], flows: [{ previous: "b", next: null }] });
  });

  test("leave a flow out that meets a node without an address, or has no rate", () => {
    const around = { ...AROUND, addressOf: (node: string) => (node === "b" ? null : "10.0.0.9") };
    const contents = contentsOf(
      [flow("x", ["a", "b", "c"]), flow("yy", ["a", "c"]), flow("zzz", ["a", "c"], 0)],
      around,
    );
    expect(contents.get("a")!.flows.map(({ id }) => id)).toEqual(["site/gate/yy"]);
    expect(contents.get("b")!.flows).toEqual([]);
  });

  test("take flows of the same packets for one, and none between families of addresses", () => {
    const one = flow("x", ["a", "b"], 1e6);
    const same = { ...one, id: "site/other/x", bitsPerSecond: 2e6 };
    const mixed = { ...flow("yy", ["a", "b"]), target: { node: "b", address: "fd00::1", port: null } };
    expect(contentsOf([same, one, mixed], AROUND).get("a")!.flows).toMatchObject([
      { id: "site/gate/x", bitsPerSecond: 3e6 },
    ]);
  });

  test("say of a floor that no rule leads it", () => {
    const contents = contentsOf([{ ...flow("x", ["a", "b", "c"]), isKernels: true }], AROUND);
    expect(contents.get("b")!.flows[0]).toMatchObject({ next: "c", routed: false });
  });

  test("have 5,000 flows at most", () => {
    const flows = Array.from({ length: 5_001 }, (_, at) => ({
      ...flow(`${at}`.padStart(5, "0"), ["a", "b"]),
      target: { node: "b", address: "10.1.0.2", port: at + 1 },
    }));
    expect(contentsOf(flows, AROUND).get("a")!.flows).toHaveLength(5_000);
  });

  test("change their generation and version only where they change", () => {
    const plans = new FlowPlans("e1");
    expect(plans.publish(contentsOf([flow("x", ["a", "b"])], AROUND))).toBe(true);
    const before = new Map(plans.all().map((plan) => [plan.node, plan]));
    expect(plans.publish(contentsOf([flow("x", ["a", "b"])], AROUND))).toBe(false);
    expect(plans.publish(contentsOf([flow("x", ["a", "b"]), flow("yy", ["b", "c"])], AROUND))).toBe(true);
    const after = new Map(plans.all().map((plan) => [plan.node, plan]));
    expect(plans.generation).toBe(2);
    expect(after.get("a")).toEqual(before.get("a"));
    expect(after.get("b")!.generation).toBe(2);
    expect(after.get("b")!.version).not.toBe(before.get("b")!.version);
    plans.publish(contentsOf([], { ...AROUND, nodes: ["a", "b"] }));
    expect(plans.all().map(({ node }) => node)).toEqual(["a", "b"]);
  });

  test("are applied when each node has confirmed its own, in this epoch", () => {
    const plans = new FlowPlans("e2");
    plans.publish(contentsOf([flow("x", ["a", "b"])], AROUND));
    expect(plans.areApplied(["a", "b"])).toBe(false);
    plans.confirm("a", "e1", 1);
    plans.confirm("a", "e2", 7);
    plans.confirm("b", "e2", 1);
    expect(plans.areApplied(["a", "b"])).toBe(false);
    plans.confirm("a", "e2", 1);
    expect(plans.areApplied(["a", "b"])).toBe(true);
    expect(plans.areApplied(["a", "unknown"])).toBe(false);
    plans.publish(contentsOf([flow("x", ["a", "b"], 2e6)], AROUND));
    expect(plans.areApplied(["a", "b"])).toBe(false);
  });
});
