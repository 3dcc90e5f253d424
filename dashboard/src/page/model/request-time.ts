import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { channelCosts, type ChannelCost } from "./costs.ts";

type Placed = Pick<WorkflowGraphSnapshot, "workloads" | "channels">;
export type CostBetween = (source: string, target: string) => number;

export interface PodMove {
  readonly pod: string;
  readonly node: string;
}

export interface RequestTime {
  readonly totalMs: number;
  /** The slowest chain of calls, ms: the time if services make their calls concurrently. */
  readonly chainMs: number;
  readonly leftOut: number;
}

/** Workloads with requests but no pod on a node that is up; without them a request's time is unknown. */
export function absentWorkloads(
  { workloads, channels }: Placed,
  costBetween: CostBetween,
): readonly string[] {
  const used = new Set(
    channels
      .filter(({ requestsPerSecond }) => (requestsPerSecond ?? 0) > 0)
      .flatMap(({ source, target }) => [source, target]),
  );
  const isUp = (node: string | null): boolean => node !== null && !Number.isNaN(costBetween(node, node));
  return workloads
    .filter(({ name, pods }) => used.has(name) && !pods.some(({ node }) => isUp(node)))
    .map(({ name }) => name);
}

/**
 * Null without counted requests or known round trips, or if a participating workload has no pod. Infinity if
 * calling pods cannot reach each other.
 */
export function requestTime(workflow: Placed, costBetween: CostBetween): RequestTime | null {
  const costs = channelCosts(workflow, costBetween);
  const rate = entryRate(costs);
  const known = countedCalls(costs);
  if (rate === 0 || known.length === 0 || absentWorkloads(workflow, costBetween).length > 0) return null;
  return {
    totalMs: known.reduce((sum, { channel, ms }) => sum + (channel.requestsPerSecond! / rate) * ms, 0),
    chainMs: longestChain(known).reduce((sum, { ms }) => sum + ms, 0),
    leftOut: costs.length - known.length,
  };
}

const countedCalls = (costs: readonly ChannelCost[]): ChannelCost[] =>
  costs.filter(({ channel, ms }) => (channel.requestsPerSecond ?? 0) > 0 && !Number.isNaN(ms));

export function callsPerRequest(channels: Placed["channels"]): ReadonlyMap<string, number> {
  const rate = entryRate(channels.map((channel) => ({ channel })));
  return new Map(
    channels.map(({ source, target, requestsPerSecond }) => [
      `${source}\n${target}`,
      rate === 0 ? 0 : (requestsPerSecond ?? 0) / rate,
    ]),
  );
}

/** Incoming requests per second: the busiest channel of each entry, which nothing in the workflow calls. */
function entryRate(costs: readonly Pick<ChannelCost, "channel">[]): number {
  const called = new Set(costs.map(({ channel }) => channel.target));
  const rates = new Map<string, number>();
  for (const { channel } of costs)
    if (!called.has(channel.source))
      rates.set(channel.source, Math.max(rates.get(channel.source) ?? 0, channel.requestsPerSecond ?? 0));
  return [...rates.values()].reduce((sum, rate) => sum + rate, 0);
}

/** Calls of the slowest chain in order; empty without counted requests or known round trips. */
export function slowestChain(workflow: Placed, costBetween: CostBetween): readonly ChannelCost[] {
  return longestChain(countedCalls(channelCosts(workflow, costBetween)));
}

function longestChain(costs: readonly ChannelCost[]): readonly ChannelCost[] {
  const outgoing = Map.groupBy(costs, ({ channel }) => channel.source);
  const done = new Map<string, Chain>();
  const under = (workload: string): Chain => {
    const known = done.get(workload);
    if (known !== undefined) return known;
    // A workload in a cycle counts once.
    done.set(workload, NO_CALLS);
    const chain = longest(
      (outgoing.get(workload) ?? []).map((call): Chain => {
        const rest = under(call.channel.target);
        return { ms: call.ms + rest.ms, calls: [call, ...rest.calls] };
      }),
    );
    done.set(workload, chain);
    return chain;
  };
  const called = new Set(costs.map(({ channel }) => channel.target));
  const entries = [...outgoing.keys()].filter((workload) => !called.has(workload));
  return longest(entries.map(under)).calls;
}

interface Chain {
  readonly ms: number;
  readonly calls: readonly ChannelCost[];
}

const NO_CALLS: Chain = { ms: 0, calls: [] };

const longest = (chains: readonly Chain[]): Chain =>
  chains.reduce((best, chain) => (chain.ms > best.ms ? chain : best), NO_CALLS);

export function withMoves<T extends Placed>(workflow: T, moves: readonly PodMove[]): T {
  const nodes = new Map(moves.map(({ pod, node }) => [pod, node]));
  return {
    ...workflow,
    workloads: workflow.workloads.map((workload) => ({
      ...workload,
      pods: workload.pods.map((pod) => ({ ...pod, node: nodes.get(pod.name) ?? pod.node })),
    })),
  };
}
