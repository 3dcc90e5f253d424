import type { FlowNetwork } from "../flow-network.ts";
import type { Flow, PlacedJob } from "../placed-job.ts";

interface ChangeBase {
  readonly atSeconds: number;
}

/** Scales link capacities in both directions. */
interface LinkChange extends ChangeBase {
  readonly kind: "links";
  readonly links: readonly number[];
  readonly factor: number;
}

interface NodeChange extends ChangeBase {
  readonly kind: "node";
  /** Index of the node; MUST NOT be a job's source. */
  readonly node: number;
}

interface JobChange extends ChangeBase {
  readonly kind: "job";
}

export type SystemChange = LinkChange | NodeChange | JobChange;

export function networkAfter(network: FlowNetwork, change: LinkChange | NodeChange): FlowNetwork {
  const capacities = network.capacities.slice();
  if (change.kind === "links") for (const link of change.links) capacities[link]! *= change.factor;
  else
    for (const source of network.nodes.keys())
      for (const { target, capacity } of network.arcsFrom(source))
        if (source === change.node || target === change.node) capacities[capacity] = 0;
  return network.withCapacities(capacities);
}

export function isBroken(flows: readonly Flow[], { capacities }: FlowNetwork): boolean {
  return flows.some(({ path }) => path.hops.some((hop) => capacities[hop] === 0));
}

/** Reduces rates on over-promised links, each job's by the same factor. */
export function cutToCapacities(
  running: readonly PlacedJob[],
  capacities: Float64Array,
): readonly PlacedJob[] {
  const used = new Float64Array(capacities.length);
  for (const { flows, throughput } of running)
    for (const { path, bitsPerFrame } of flows)
      for (const hop of path.hops) used[hop]! += bitsPerFrame * throughput;
  return running.map((placed) => {
    const factor = placed.flows
      .flatMap(({ path }) => path.hops)
      .reduce((least, hop) => Math.min(least, capacities[hop]! / used[hop]!), 1);
    if (!(factor < 1 - 1e-9)) return placed;
    const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: flow.bitsPerSecond * factor }));
    return { ...placed, flows, throughput: placed.throughput * factor };
  });
}
