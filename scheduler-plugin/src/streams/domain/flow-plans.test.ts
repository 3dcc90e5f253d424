import { FLOW_PLAN_BOUNDS, parseFlowPlans } from "@isochrone/topology";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentsOf, FlowPlans, type AddressedFlow } from "./flow-plans.ts";

const NODES = ["a", "b", "c"];
const AROUND = {
  nodes: NODES,
  addressOf: (node: string) => ({ a: "10.0.0.1", b: "10.0.0.2", c: "10.0.0.3" })[node] ?? null,
  capacityOf: (source: string, target: string) => (`${source}${target}` === "ab" ? 10e6 : null),
};

const plansOf = (...given: Parameters<typeof contentsOf>): ReturnType<typeof contentsOf>["byNode"] =>
  contentsOf(...given).byNode;

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
    plans.publish(plansOf([flow("x", ["a", "b", "c"]), flow("yy", ["a", "b"])], AROUND));
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
    const contents = plansOf(
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
    expect(plansOf([same, one, mixed], AROUND).get("a")!.flows).toMatchObject([
      { id: "site/gate/x", bitsPerSecond: 3e6 },
    ]);
  });

  test("say of a floor that no rule leads it", () => {
    const contents = plansOf([{ ...flow("x", ["a", "b", "c"]), isKernels: true }], AROUND);
    expect(contents.get("b")!.flows[0]).toMatchObject({ next: "c", routed: false });
  });

  test("have 5,000 flows at most", () => {
    const flows = Array.from({ length: 5_001 }, (_, at) => ({
      ...flow(`${at}`.padStart(5, "0"), ["a", "b"]),
      target: { node: "b", address: "10.1.0.2", port: at + 1 },
    }));
    expect(plansOf(flows, AROUND).get("a")!.flows).toHaveLength(5_000);
  });

  test("share a node's places between namespaces, and name the flows without one", () => {
    const amounts = fc.record({
      tenants: fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 2, maxLength: 4 }),
      far: fc.boolean(),
    });
    fc.assert(
      fc.property(amounts, ({ tenants, far }) => {
        const flows = tenants.flatMap((count, tenant) =>
          Array.from({ length: count }, (_, at) => {
            const route = far && tenant === tenants.length - 1 ? ["a", "b", "c"] : ["a", "b"];
            return {
              ...flow(`${at}`, route),
              id: `n${tenant}/web/${at}`,
              owner: { kind: "AppGroup", namespace: `n${tenant}`, name: "web" } as const,
              source: { node: "a", address: `10.2.0.${tenant + 1}`, port: null },
              target: { node: route.at(-1)!, address: "10.1.0.9", port: at + 1 },
            };
          }),
        );
        const { byNode, withoutPlace } = contentsOf(flows, AROUND);
        const planned = byNode.get("a")!.flows;
        expect(planned.length).toBeLessThanOrEqual(FLOW_PLAN_BOUNDS.flowsOfNode);
        expect(planned.length + withoutPlace.length).toBe(flows.length);
        const equal = Math.floor(FLOW_PLAN_BOUNDS.flowsOfNode / tenants.length);
        for (const [tenant, count] of tenants.entries()) {
          const own = planned.filter(({ owner }) => owner.namespace === `n${tenant}`).length;
          expect(own).toBeGreaterThanOrEqual(Math.min(count, equal));
        }
      }),
      { numRuns: 10 },
    );
  }, 60_000);

  test("share a node's neighbours, too", () => {
    const nodes = Array.from({ length: 1_500 }, (_, at) => `node${`${at}`.padStart(4, "0")}`);
    const around = { nodes: ["a", ...nodes], addressOf: () => "10.0.0.1", capacityOf: () => null };
    const of = (namespace: string, targets: readonly string[]): AddressedFlow[] =>
      targets.map((node, at) => ({
        ...flow(`${at}`, ["a", node]),
        id: `${namespace}/web/${node}`,
        owner: { kind: "AppGroup", namespace, name: "web" },
        target: { node, address: "10.1.0.9", port: (namespace === "greedy" ? 1 : 10_000) + at },
      }));
    const { byNode, withoutPlace } = contentsOf(
      [...of("greedy", nodes.slice(0, 1_400)), ...of("late", nodes.slice(1_400))],
      around,
    );
    expect(byNode.get("a")!.neighbours).toHaveLength(FLOW_PLAN_BOUNDS.neighboursOfNode);
    expect(withoutPlace.filter(({ owner }) => owner.namespace === "late")).toEqual([]);
    expect(withoutPlace).toHaveLength(500);
  });

  test("stay readable whatever names and rates tenants choose", () => {
    const one = flow("x", ["a", "b"], Number.MAX_SAFE_INTEGER);
    const sameId = { ...one, source: { ...one.source, address: "10.1.0.77" } };
    const samePackets = { ...one, id: "site/other/x" };
    const plans = new FlowPlans("e1");
    plans.publish(plansOf([one, sameId, samePackets], AROUND));
    const [a] = parseFlowPlans({ plans: plans.all() });
    expect(a!.flows.map(({ id }) => id)).toEqual(["site/gate/x", "site/gate/x+"]);
  });

  test("change their generation and version only where they change", () => {
    const plans = new FlowPlans("e1");
    expect(plans.publish(plansOf([flow("x", ["a", "b"])], AROUND))).toBe(true);
    const before = new Map(plans.all().map((plan) => [plan.node, plan]));
    expect(plans.publish(plansOf([flow("x", ["a", "b"])], AROUND))).toBe(false);
    expect(plans.publish(plansOf([flow("x", ["a", "b"]), flow("yy", ["b", "c"])], AROUND))).toBe(true);
    const after = new Map(plans.all().map((plan) => [plan.node, plan]));
    expect(plans.generation).toBe(2);
    expect(after.get("a")).toEqual(before.get("a"));
    expect(after.get("b")!.generation).toBe(2);
    expect(after.get("b")!.version).not.toBe(before.get("b")!.version);
    plans.publish(plansOf([], { ...AROUND, nodes: ["a", "b"] }));
    expect(plans.all().map(({ node }) => node)).toEqual(["a", "b"]);
  });

  test("are applied when each node has confirmed its own, in this epoch", () => {
    const plans = new FlowPlans("e2");
    plans.publish(plansOf([flow("x", ["a", "b"])], AROUND));
    expect(plans.areApplied(["a", "b"])).toBe(false);
    plans.confirm("a", "e1", 1);
    plans.confirm("a", "e2", 7);
    plans.confirm("b", "e2", 1);
    expect(plans.areApplied(["a", "b"])).toBe(false);
    plans.confirm("a", "e2", 1);
    expect(plans.areApplied(["a", "b"])).toBe(true);
    expect(plans.areApplied(["a", "unknown"])).toBe(false);
    plans.publish(plansOf([flow("x", ["a", "b"], 2e6)], AROUND));
    expect(plans.areApplied(["a", "b"])).toBe(false);
  });
});
