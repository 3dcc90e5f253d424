// Cost of a workflow's traffic at its current placement: bytes per second times milliseconds. Pure.
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";

export interface ChannelCost {
  readonly channel: Channel;
  /** Mean over the pod pairs of both ends; NaN if none is known, Infinity if pods cannot reach each other. */
  readonly ms: number;
  /** Bytes per second times milliseconds; NaN if either is unknown. */
  readonly cost: number;
  /** The most distant nodes of both ends' pods; null: unknown, or all on one node. */
  readonly pair: NodePair | null;
}

interface NodePair {
  readonly source: string;
  readonly target: string;
}

export function channelCosts(
  { workloads, channels }: Pick<WorkflowGraphSnapshot, "workloads" | "channels">,
  costBetween: (source: string, target: string) => number,
): ChannelCost[] {
  const nodesOf = new Map(
    workloads.map(({ name, pods }) => [name, pods.map(({ node }) => node).filter((node) => node !== null)]),
  );
  const costs = channels.map((channel) => {
    const { ms, pair } = distanceOf(
      nodesOf.get(channel.source) ?? [],
      nodesOf.get(channel.target) ?? [],
      costBetween,
    );
    return {
      channel,
      ms,
      pair,
      cost: channel.bytesPerSecond === null ? Number.NaN : product(channel.bytesPerSecond, ms),
    };
  });
  const order = ({ cost }: ChannelCost): number => (Number.isNaN(cost) ? -1 : cost);
  return costs.sort(
    (a, b) => order(b) - order(a) || (b.channel.requestsPerSecond ?? 0) - (a.channel.requestsPerSecond ?? 0),
  );
}

/** No traffic costs nothing at any distance. */
const product = (bytesPerSecond: number, ms: number): number =>
  bytesPerSecond === 0 ? 0 : bytesPerSecond * ms;

/** Sample size per workload: pairs grow with the product. */
const MAX_PODS = 40;

function distanceOf(
  sources: readonly string[],
  targets: readonly string[],
  costBetween: (source: string, target: string) => number,
): Pick<ChannelCost, "ms" | "pair"> {
  let [sum, known, worst] = [0, 0, -1];
  let pair: NodePair | null = null;
  for (const source of sources.slice(0, MAX_PODS))
    for (const target of targets.slice(0, MAX_PODS)) {
      const ms = costBetween(source, target);
      if (Number.isNaN(ms)) continue;
      sum += ms;
      known++;
      if (source === target || ms <= worst) continue;
      worst = ms;
      pair = { source, target };
    }
  return { ms: known === 0 ? Number.NaN : sum / known, pair };
}

export function withMoves<W extends Pick<WorkflowGraphSnapshot, "workloads">>(
  workflow: W,
  moves: readonly { readonly name: string; readonly workload: string | null; readonly node: string | null }[],
): W {
  const byPod = new Map(moves.map((move) => [JSON.stringify([move.workload, move.name]), move.node]));
  const nodeOf = (
    workload: string,
    { name, node }: { readonly name: string; readonly node: string | null },
  ) => byPod.get(JSON.stringify([workload, name])) ?? node;
  return {
    ...workflow,
    workloads: workflow.workloads.map((workload) => ({
      ...workload,
      pods: workload.pods.map((pod) => ({ ...pod, node: nodeOf(workload.name, pod) })),
    })),
  };
}

export function totalCost(costs: readonly ChannelCost[]): {
  readonly total: number;
  readonly unknown: number;
} {
  const known = costs.filter(({ cost }) => Number.isFinite(cost));
  return { total: known.reduce((sum, { cost }) => sum + cost, 0), unknown: costs.length - known.length };
}

/** Converts cost to bytes in flight: bytes per second times milliseconds, divided by 1000. */
export function onTheWay(cost: number): number {
  return cost / 1000;
}
