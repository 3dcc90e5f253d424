import type { FlowPlan, PlannedFlow } from "@isochrone/topology";
import { ADDRESS, NEIGHBOUR, type NodeName } from "./mesh.ts";

/** A flow from a to b, from the view of a node on its path. */
export function flowOnTheWay(
  node: NodeName,
  way: readonly NodeName[],
  port: number,
  bitsPerSecond: number,
): PlannedFlow {
  const at = way.indexOf(node);
  return {
    id: `shop/cameras/camera->stage${port}`,
    owner: { kind: "StreamJob", namespace: "shop", name: "cameras" },
    protocol: "tcp",
    source: { node: "a", address: ADDRESS.a, port: null },
    target: { node: "b", address: ADDRESS.b, port },
    next: way[at + 1] ?? null,
    previous: way[at - 1] ?? null,
    routed: way.length > 2,
    bitsPerSecond,
  };
}

let generation = 0;

/** @param capacities bit/s; null: unknown @param addressOf @default its address on the shared link */
export function planOf(
  node: NodeName,
  flows: readonly PlannedFlow[],
  capacities: Readonly<Partial<Record<NodeName, number | null>>>,
  addressOf = (name: string): string => NEIGHBOUR[`${node} ${name}`]!.address,
): FlowPlan {
  generation++;
  return {
    version: `v${generation}`,
    node,
    epoch: "test",
    generation,
    neighbours: Object.entries(capacities).map(([name, capacityBitsPerSecond]) => ({
      node: name,
      address: addressOf(name),
      capacityBitsPerSecond,
    })),
    flows: [...flows],
  };
}

export const RELAYED = ["a", "r", "b"] as const satisfies readonly NodeName[];

/** Returns a plan of node a: one flow on its direct link, one through the relay. */
export function planOfTwo(): FlowPlan {
  const direct = flowOnTheWay("a", ["a", "b"], 5001, 2e6);
  return planOf("a", [direct, flowOnTheWay("a", RELAYED, 5002, 3e6)], { b: 10e6, r: 10e6 });
}
