import type { FlowPlan, PlannedFlow } from "@isochrone/topology";

export function flow(port: number, fields: Partial<PlannedFlow> = {}): PlannedFlow {
  return {
    id: `shop/cameras/camera->stage${port}`,
    owner: { kind: "StreamJob", namespace: "shop", name: "cameras" },
    protocol: "tcp",
    source: { node: "a", address: "10.0.0.1", port: null },
    target: { node: "z", address: "10.0.0.9", port },
    next: "b",
    previous: null,
    routed: false,
    bitsPerSecond: 1e6,
    ...fields,
  };
}

export function plan(fields: Partial<FlowPlan> = {}): FlowPlan {
  return {
    version: "1",
    node: "a",
    epoch: "one",
    generation: 1,
    neighbours: [{ node: "b", address: "10.1.0.2", capacityBitsPerSecond: 1e7 }],
    flows: [],
    ...fields,
  };
}
