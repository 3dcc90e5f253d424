// For any sequence of plans and modes, the differences reach the wanted state and nothing else.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { FlowPlan, PlannedFlow } from "@isochrone/topology";
import { MemoryKernel } from "../adapters/memory-kernel.ts";
import { flow, plan } from "../testing/plans.ts";
import { difference } from "./difference.ts";
import { NOTHING, type RootQdisc, type Way } from "./kernel-state.ts";
import { wantedState } from "./wanted.ts";

const NODES = ["b", "c", "d", "e", "f"] as const;
const addressOf = (node: string): string => `10.${node.charCodeAt(0)}.0.2`;
const DEVICES: Readonly<Record<string, string>> = { b: "eth0", c: "eth0", d: "eth1", e: "eth2" };

const ways = new Map(
  Object.entries(DEVICES).map(([node, device]): [string, Way] => [
    addressOf(node),
    { device, gateway: node === "d" ? "10.99.0.1" : null, isLocal: false },
  ]),
);
const roots = new Map<string, RootQdisc>([
  ["eth0", { owner: "kernel", name: "mq 0:" }],
  ["eth1", { owner: "kernel", name: "noqueue 0:" }],
  ["eth2", { owner: "other", name: "fq 8001:" }],
]);

const flows: fc.Arbitrary<PlannedFlow[]> = fc
  .uniqueArray(
    fc.record({
      port: fc.integer({ min: 1, max: 12 }),
      next: fc.constantFrom(...NODES),
      routed: fc.boolean(),
      bitsPerSecond: fc.integer({ min: 1, max: 3_000_000 }),
      isHere: fc.boolean(),
    }),
    { selector: ({ port }) => port, maxLength: 8 },
  )
  .map((all) =>
    all.map(({ port, isHere, ...fields }) => flow(port, isHere ? arriving(port, fields) : fields)),
  );

function arriving(port: number, { next, ...fields }: Partial<PlannedFlow>): Partial<PlannedFlow> {
  const source = { node: "z", address: "10.0.0.9", port: null };
  const target = { node: "a", address: "10.0.0.1", port };
  return { ...fields, source, target, next: null, previous: next ?? null };
}

const plans: fc.Arbitrary<FlowPlan> = fc
  .record({ flows, capacity: fc.constantFrom(null, 5e6, 1e7), seventh: fc.constantFrom(null, 7e6) })
  .map(({ flows: planned, capacity, seventh }) =>
    plan({
      flows: planned,
      neighbours: NODES.map((node) => ({
        node,
        address: addressOf(node),
        capacityBitsPerSecond: node === "c" ? seventh : capacity,
      })),
    }),
  );

const step = fc.record({
  plan: fc.option(plans, { nil: null }),
  mode: fc.constantFrom("guarantee", "shape", "route"),
});

test("differences lead to what is wanted, never name what is another's, and leave no packet without a class", async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
    const kernel = new MemoryKernel({ ways, roots });
    kernel.onChange = () => {
      const { devices, marks, hops, tunnel } = kernel.own;
      expect(tunnel === null || kernel.hasTable).toBe(true);
      const classes = new Set([...devices.values()].flatMap((each) => [...each.keys()]));
      for (const { minor } of [...marks.values(), ...hops.values()]) expect(classes).toContain(minor);
    };
    for (const each of steps) {
      const state = kernel.state();
      const wanted = each.plan === null ? NOTHING : wantedState(each.plan, each.mode, state).state;
      const changes = difference(state, wanted);
      expect(JSON.stringify(changes)).not.toContain("eth2");
      expect(await kernel.apply(changes)).toEqual([]);
      expect(kernel.own).toEqual(wanted);
      expect(difference(kernel.state(), wanted)).toEqual([]);
      if (each.plan === null) continue;
      expect(wantedState(each.plan, each.mode, kernel.state()).state).toEqual(wanted);
    }
  });
  await fc.assert(property, { numRuns: 300 });
});
