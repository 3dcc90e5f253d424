// What a workflow's traffic costs where its pods are now: bytes per second times milliseconds. Pure.
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";

export interface ChannelCost {
  readonly channel: Channel;
  /** Mean over the pairs of its ends' pods; NaN when no pair's is known, Infinity when pods can't reach each other. */
  readonly ms: number;
  /** Bytes per second times milliseconds; NaN when one of both isn't known. */
  readonly cost: number;
}

/** The dearest first; those of unknown cost last. */
export function channelCosts(
  { workloads, channels }: Pick<WorkflowGraphSnapshot, "workloads" | "channels">,
  costBetween: (source: string, target: string) => number,
): ChannelCost[] {
  const nodesOf = new Map(
    workloads.map(({ name, pods }) => [name, pods.map(({ node }) => node).filter((node) => node !== null)]),
  );
  const costs = channels.map((channel) => {
    const ms = meanCost(nodesOf.get(channel.source) ?? [], nodesOf.get(channel.target) ?? [], costBetween);
    return {
      channel,
      ms,
      cost: channel.bytesPerSecond === null ? Number.NaN : product(channel.bytesPerSecond, ms),
    };
  });
  const order = ({ cost }: ChannelCost): number => (Number.isNaN(cost) ? -1 : cost);
  return costs.sort(
    (a, b) => order(b) - order(a) || (b.channel.requestsPerSecond ?? 0) - (a.channel.requestsPerSecond ?? 0),
  );
}

/** No traffic costs nothing, however far. */
const product = (bytesPerSecond: number, ms: number): number =>
  bytesPerSecond === 0 ? 0 : bytesPerSecond * ms;

/** Pods of large workloads are compared on a sample: their pairs are as many as their product. */
const MAX_PODS = 40;

function meanCost(
  sources: readonly string[],
  targets: readonly string[],
  costBetween: (source: string, target: string) => number,
): number {
  let [sum, known] = [0, 0];
  for (const source of sources.slice(0, MAX_PODS))
    for (const target of targets.slice(0, MAX_PODS)) {
      const ms = costBetween(source, target);
      if (Number.isNaN(ms)) continue;
      sum += ms;
      known++;
    }
  return known === 0 ? Number.NaN : sum / known;
}

/** All channels together; how many are left out because their cost isn't known. */
export function totalCost(costs: readonly ChannelCost[]): {
  readonly total: number;
  readonly unknown: number;
} {
  const known = costs.filter(({ cost }) => Number.isFinite(cost));
  return { total: known.reduce((sum, { cost }) => sum + cost, 0), unknown: costs.length - known.length };
}

/** `12.3 kB·ms/s`: bytes per second times milliseconds are bytes under way, times a thousand. */
export function onTheWay(cost: number): number {
  return cost / 1000;
}
