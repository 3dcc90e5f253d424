import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FLOW_PLAN_BOUNDS, type FlowPlan } from "@isochrone/topology";
import { MemoryKernel } from "../adapters/memory-kernel.ts";
import { flow, plan } from "../testing/plans.ts";
import { difference } from "./difference.ts";
import {
  FIRST_FLOW_CLASS,
  type HtbClass,
  type KernelState,
  type RootQdisc,
  type Way,
} from "./kernel-state.ts";
import { wantedState, type ActiveMode } from "./wanted.ts";

const WAY: Way = { device: "eth0", gateway: null, isLocal: false };
const ROOTS = new Map<string, RootQdisc>([["eth0", { owner: "kernel", name: "mq 0:" }]]);

function kernelOf(way: Way | null = WAY, fields: Partial<KernelState> = {}): KernelState {
  const ways = new Map(way === null ? [] : [["10.1.0.2", way]]);
  return { ...new MemoryKernel({ ways, roots: ROOTS }).state(), ...fields };
}

function classesOf(of: FlowPlan, mode: ActiveMode, kernel = kernelOf()): HtbClass[] {
  return [...(wantedState(of, mode, kernel).state.devices.get("eth0")?.values() ?? [])];
}

const capacity = (bitsPerSecond: number | null): FlowPlan["neighbours"] => [
  { node: "b", address: "10.1.0.2", capacityBitsPerSecond: bitsPerSecond },
];
const COMING: Partial<FlowPlan["flows"][number]> = {
  routed: true,
  previous: "b",
  source: { node: "x", address: "10.0.0.5", port: 9 },
  target: { node: "a", address: "10.0.0.1", port: 1 },
};
const rates = (classes: readonly HtbClass[]): number[][] =>
  classes.map(({ rateBitsPerSecond, ceilBitsPerSecond }) => [rateBitsPerSecond, ceilBitsPerSecond]);

describe("what a plan comes to", () => {
  test("guarantee: a flow's rate is a floor, its ceil the link; the rest of the link is for everything else", () => {
    const of = plan({ flows: [flow(1, { bitsPerSecond: 6e6 }), flow(2, { bitsPerSecond: 3e6 })] });
    expect(rates(classesOf(of, "guarantee"))).toEqual([
      [6e6, 10e6],
      [3e6, 10e6],
      [10e6, 10e6],
      [1e6, 10e6],
    ]);
  });

  test("shape: a flow's rate is its ceil; a link of unknown capacity has no class of its own", () => {
    const of = plan({ neighbours: capacity(null), flows: [flow(1, { bitsPerSecond: 6e6 })] });
    const classes = classesOf(of, "shape");
    expect(rates(classes)).toEqual([[6e6, 6e6]]);
    expect(classes[0]).toMatchObject({ minor: FIRST_FLOW_CLASS, parent: null });
    expect(wantedState(of, "shape", kernelOf()).state.hops.size).toBe(0);
  });

  test("an AppGroup's minBandwidth is a floor in every mode, and needs the link's capacity", () => {
    const owner = { kind: "AppGroup", namespace: "shop", name: "web" } as const;
    const flows = [flow(1, { owner, bitsPerSecond: 2e6 }), flow(2, { bitsPerSecond: 3e6 })];
    expect(rates(classesOf(plan({ flows }), "shape")).slice(0, 2)).toEqual([
      [2e6, 10e6],
      [3e6, 3e6],
    ]);
    const unknown = wantedState(plan({ flows, neighbours: capacity(null) }), "shape", kernelOf());
    expect(unknown.flows.map(({ unmet }) => unmet?.reason)).toEqual(["capacity_unknown", undefined]);
  });

  test("route: a flow whose path isn't the kernel's gets a rule and its neighbour's table", () => {
    const of = plan({ flows: [flow(1, { routed: true }), flow(2)] });
    const { rules, routes } = wantedState(of, "route", kernelOf()).state;
    expect([...rules.values()].map(({ match }) => match.targetPort)).toEqual([1]);
    expect([...routes.values()]).toMatchObject([{ gateway: "10.1.0.2", device: "eth0" }]);
  });

  test.each([
    ["one IP", "10.1.0.2", 1464],
    ["the other", "fd00::2", 1444],
  ])("route: a neighbour behind a router is reached by the tunnel over %s", (_, address, mtu) => {
    const behind: Way = { ...WAY, gateway: "10.1.0.254" };
    const kernel = kernelOf(null, { ways: new Map([[address, behind]]), mtus: new Map([["eth0", 1500]]) });
    const neighbours = [{ node: "b", address, capacityBitsPerSecond: 1e7 }];
    const ends = address.includes(":")
      ? {
          source: { node: "a", address: "fd00::1", port: null },
          target: { node: "z", address: "fd00::9", port: 1 },
        }
      : {};
    const sent = wantedState(
      plan({ neighbours, flows: [flow(1, { routed: true, ...ends })] }),
      "route",
      kernel,
    );
    expect(sent.state).toMatchObject({ tunnel: { mtu }, peers: new Set() });
    expect([...sent.state.routes.values()]).toMatchObject([{ gateway: address, device: "isochrone-vx" }]);
    expect(sent.flows[0]).toMatchObject({ unmet: null, place: { device: "eth0" } });

    const received = flow(1, { ...COMING, next: null });
    const end = wantedState(plan({ neighbours, flows: [received] }), "route", kernel).state;
    expect(end).toMatchObject({ tunnel: { mtu }, routes: new Map(), peers: new Set([address]) });
    for (const mode of ["guarantee", "shape"] as const)
      expect(wantedState(plan({ neighbours, flows: [received] }), mode, kernel).state.tunnel).toBeNull();
  });

  test("a flow that ends here needs nothing", () => {
    const end = flow(1, { target: { node: "a", address: "10.0.0.1", port: 1 }, next: null, previous: "b" });
    const { state, flows } = wantedState(plan({ flows: [end] }), "shape", kernelOf());
    expect(state.devices.size + state.marks.size).toBe(0);
    expect(flows).toEqual([{ flow: end, place: null, unmet: null }]);
  });

  test("addresses are compared as the kernel spells them", () => {
    const six = flow(1, {
      source: { node: "a", address: "FD00:0:0::1", port: null },
      target: { node: "z", address: "fd00:0::9", port: 1 },
    });
    const [mark] = wantedState(plan({ flows: [six] }), "shape", kernelOf()).state.marks.values();
    expect(mark!.match).toMatchObject({ family: 6, source: "fd00::1", target: "fd00::9" });
  });

  test("a flow keeps its class while others come and go, and gets a new one on another link", async () => {
    const ways = new Map([
      ["10.1.0.2", WAY],
      ["10.1.0.3", WAY],
    ]);
    const kernel = new MemoryKernel({ ways, roots: ROOTS });
    const neighbours = [...capacity(1e7), { node: "c", address: "10.1.0.3", capacityBitsPerSecond: 1e7 }];
    const set = async (...flows: FlowPlan["flows"]): Promise<(number | undefined)[]> => {
      const wanted = wantedState(plan({ neighbours, flows }), "shape", kernel.state());
      expect(await kernel.apply(difference(kernel.state(), wanted.state))).toEqual([]);
      return wanted.flows.map(({ place }) => place?.minor);
    };
    const [first, second] = await set(flow(1), flow(2));
    expect(await set(flow(2))).toEqual([second]);
    expect(await set(flow(2), flow(3, { next: "c" }))).toEqual([second, expect.anything()]);
    expect(await set(flow(2, { next: "c" }))).not.toEqual([second]);
    expect(first).not.toBe(second);
  });
});

describe("a plan of more than the link", () => {
  const ofTenant = (port: number, namespace: string, bitsPerSecond: number): FlowPlan["flows"][number] =>
    flow(port, { owner: { kind: "StreamJob", namespace, name: "job" }, bitsPerSecond });

  test.each(["guarantee", "shape", "route"] as const)(
    "%s: flows of a namespace share by their rates, and other traffic keeps its share",
    (mode) => {
      const of = plan({ flows: [flow(1, { bitsPerSecond: 9e6 }), flow(2, { bitsPerSecond: 5e6 })] });
      const [nine, five, link, rest] = classesOf(of, mode);
      expect(link).toMatchObject({ rateBitsPerSecond: 10e6, ceilBitsPerSecond: 10e6 });
      expect(nine!.rateBitsPerSecond / five!.rateBitsPerSecond).toBeCloseTo(9 / 5, 2);
      expect(rest!.rateBitsPerSecond).toBeGreaterThanOrEqual(1e6);
      const { flows } = wantedState(of, mode, kernelOf());
      expect(flows.map(({ place }) => place?.ceilBitsPerSecond)).toEqual(
        mode === "guarantee" ? [10e6, 10e6] : [9e6, 5e6],
      );
      for (const { unmet } of flows) expect(unmet?.reason).toBe("capacity_exceeded");
    },
  );

  test("a namespace that is promised what the plan says has no complaint", () => {
    const of = plan({ flows: [ofTenant(1, "greedy", 1e15), ofTenant(2, "modest", 1e6)] });
    const { flows } = wantedState(of, "shape", kernelOf());
    expect(flows.map(({ unmet }) => unmet?.reason)).toEqual(["capacity_exceeded", undefined]);
    expect(rates(classesOf(of, "shape")).slice(0, 2)).toEqual([
      [8e6, 10e6],
      [1e6, 1e6],
    ]);
  });

  test("never makes leaves beyond the link, leaves the rest, and cuts no namespace below its equal share", () => {
    const tenants = fc.constantFrom("one", "two", "three", "four");
    const amount = fc.oneof(
      fc.integer({ min: 1e5, max: 20e6 }),
      fc.constantFrom(1e9, 1e15, Number.MAX_SAFE_INTEGER),
    );
    const plans = fc.record({
      mode: fc.constantFrom<ActiveMode[]>("guarantee", "shape", "route"),
      link: fc.integer({ min: 1e6, max: 1e9 }),
      flows: fc.array(fc.tuple(tenants, fc.constantFrom("AppGroup", "StreamJob"), amount), {
        minLength: 1,
        maxLength: 20,
      }),
    });
    fc.assert(
      fc.property(plans, ({ mode, link, flows: drawn }) => {
        const flows = drawn.map(([namespace, kind, bitsPerSecond], at) =>
          flow(at + 1, { owner: { kind, namespace, name: "job" }, bitsPerSecond }),
        );
        const of = plan({ flows, neighbours: capacity(link) });
        const classes = classesOf(of, mode);
        const root = classes.find(({ parent }) => parent === null)!;
        const leaves = classes.filter(({ parent }) => parent === root.minor);
        expect(root.rateBitsPerSecond).toBeLessThanOrEqual(link);
        for (const { ceilBitsPerSecond } of leaves)
          expect(ceilBitsPerSecond).toBeLessThanOrEqual(root.ceilBitsPerSecond);
        const rounding = 8 * leaves.length;
        expect(sum(leaves.map(({ rateBitsPerSecond }) => rateBitsPerSecond))).toBeLessThanOrEqual(
          root.rateBitsPerSecond + rounding,
        );
        const rest = leaves.find(({ priority }) => priority > 0)!;
        expect(rest.rateBitsPerSecond).toBeGreaterThanOrEqual(link * REST * LEAST_SHOWN - rounding);
        const { flows: placements } = wantedState(of, mode, kernelOf());
        const rateOf = new Map(leaves.map(({ minor, rateBitsPerSecond }) => [minor, rateBitsPerSecond]));
        const namespaces = new Set(drawn.map(([namespace]) => namespace));
        const equal = (link * (1 - REST)) / namespaces.size;
        for (const namespace of namespaces) {
          const own = placements.filter(({ flow: { owner } }) => owner.namespace === namespace);
          const promised = sum(own.map(({ place }) => rateOf.get(place!.minor)!));
          const planned = sum(own.map(({ flow: { bitsPerSecond } }) => bitsPerSecond));
          expect(promised).toBeGreaterThanOrEqual(Math.min(planned, equal) * LEAST_SHOWN - rounding);
        }
      }),
    );
  });
});

const REST = FLOW_PLAN_BOUNDS.restShare;
const LEAST_SHOWN = 0.998;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe("what a flow doesn't get", () => {
  test.each<[string, Parameters<typeof plan>[0], ActiveMode, KernelState, string]>([
    ["no way", {}, "shape", kernelOf(null), "neighbour_unreachable"],
    ["its own address", {}, "shape", kernelOf({ ...WAY, isLocal: true }), "neighbour_is_here"],
    [
      "another's qdisc",
      {},
      "shape",
      kernelOf(WAY, { roots: new Map([["eth0", { owner: "other", name: "fq 8001:" }]]) }),
      "foreign_qdisc",
    ],
    ["no capacity", { neighbours: capacity(null) }, "guarantee", kernelOf(), "capacity_unknown"],
    ["a path", { flows: [flow(1, { routed: true })] }, "shape", kernelOf(), "not_routed"],
    [
      "a strict filter of what comes by the tunnel",
      { flows: [flow(1, { ...COMING, next: null })] },
      "route",
      kernelOf({ ...WAY, gateway: "10.1.0.254" }, { isStrict: true }),
      "reverse_path_filter",
    ],
    [
      "no forwarding",
      {
        flows: [
          flow(1, { routed: true, previous: "x", source: { node: "x", address: "10.0.0.5", port: 9 } }),
        ],
      },
      "route",
      kernelOf(WAY, { forwards: { 4: false, 6: true } }),
      "not_forwarding",
    ],
    [
      "another IP family",
      {
        flows: [
          flow(1, {
            routed: true,
            source: { node: "a", address: "fd00::1", port: null },
            target: { node: "z", address: "fd00::9", port: 1 },
          }),
        ],
      },
      "route",
      kernelOf(),
      "ip_family",
    ],
  ])("has its reason: %s", (_, fields, mode, kernel, reason) => {
    const of = plan({ flows: [flow(1)], ...fields });
    const { state, flows } = wantedState(of, mode, kernel);
    expect(flows[0]!.unmet?.reason).toBe(reason);
    expect(state.devices.size + state.marks.size + state.rules.size).toBe(0);
  });
});
