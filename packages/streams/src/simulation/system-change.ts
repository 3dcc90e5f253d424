// What happens to a network and its jobs while they run.
import type { FlowNetwork } from "../flow-network.ts";
import type { Flow, PlacedJob } from "../placed-job.ts";

interface ChangeBase {
  readonly atSeconds: number;
}

/** Links get a part of their capacity, in both directions. */
interface LinkChange extends ChangeBase {
  readonly kind: "links";
  /** Indexes of capacities. */
  readonly links: readonly number[];
  /** Above 0. */
  readonly factor: number;
}

/** A node is gone, with its links. */
interface NodeChange extends ChangeBase {
  readonly kind: "node";
  /** Its index. It MUST NOT be the source of a job. */
  readonly node: number;
}

/** The job that has run longest leaves. */
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

/** Whether a flow uses a link that is gone. */
export function isBroken(flows: readonly Flow[], { capacities }: FlowNetwork): boolean {
  return flows.some(({ path }) => path.hops.some((hop) => capacities[hop] === 0));
}

/** What a strategy promises beyond a link's capacity, its jobs don't get: each on it loses the same part. */
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
    // A rounding error is no cut.
    if (!(factor < 1 - 1e-9)) return placed;
    const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: flow.bitsPerSecond * factor }));
    return { ...placed, flows, throughput: placed.throughput * factor };
  });
}
