import type { PlanProblem } from "../objective/plan-problem.ts";
import type { Traffic } from "../objective/traffic.ts";

export type PodLinks = readonly (readonly PodLink[])[];

interface PodLink {
  readonly pod: number;
  readonly rate: number;
}

export function podLinks({ groups, groupOf, nearestOf }: Traffic, podCount: number): PodLinks {
  return Array.from({ length: podCount }, (_, pod) => {
    const rates = new Map<number, number>();
    for (const { group, calling, called } of groups[groupOf[pod]!]?.links ?? []) {
      for (const peer of groups[group]!.pods)
        if (peer !== pod) rates.set(peer, (rates.get(peer) ?? 0) + calling + called);
    }
    for (const channel of nearestOf[pod]!) {
      for (const { pod: peer, rate } of channel.partners(pod))
        if (peer !== pod) rates.set(peer, (rates.get(peer) ?? 0) + rate);
    }
    return [...rates]
      .map(([peer, rate]) => ({ pod: peer, rate }))
      .sort((a, b) => b.rate - a.rate || a.pod - b.pod);
  });
}

/** Largest demand of a pod relative to an average node. */
export function podSizes({ nodes, pods, resources }: PlanProblem): Float64Array {
  // A single pod needs no order, and large clusters have many nodes.
  if (pods.length === 1) return new Float64Array(1);
  const average = resources.map((_, resource) => {
    const sum = nodes.reduce((total, { allocatable }) => total + allocatable[resource]!, 0);
    return sum / Math.max(1, nodes.length);
  });
  return Float64Array.from(pods, ({ demand }) =>
    demand.reduce((most, amount, at) => Math.max(most, average[at]! > 0 ? amount / average[at]! : 0), 0),
  );
}

/** Next is the pod with the most traffic to earlier (and placed) pods; without any, the largest. */
export function byAttachment(traffic: Traffic, links: PodLinks, sizes: Float64Array, first = -1): number[] {
  const count = sizes.length;
  const pull = Float64Array.from({ length: count }, (_, pod) => {
    const fixed = traffic.groups[traffic.groupOf[pod]!]?.fixed ?? [];
    return fixed.reduce((sum, { calling, called }) => sum + calling + called, 0);
  });
  if (first >= 0) pull[first] = Infinity;
  const degrees = links.map((own) => own.reduce((sum, { rate }) => sum + rate, 0));
  const taken = new Uint8Array(count);
  const order: number[] = [];
  while (order.length < count) {
    let next = -1;
    for (let pod = 0; pod < count; pod++) {
      if (taken[pod] === 1) continue;
      const better =
        next < 0 ||
        pull[pod]! > pull[next]! ||
        (pull[pod] === pull[next] &&
          (degrees[pod]! > degrees[next]! || (degrees[pod] === degrees[next] && sizes[pod]! > sizes[next]!)));
      if (better) next = pod;
    }
    taken[next] = 1;
    order.push(next);
    for (const { pod, rate } of links[next]!) pull[pod]! += rate;
  }
  return order;
}

/** Callers before callees. Breaks a cycle at the pod with the least incoming traffic. */
export function byTopology({ groups, groupOf }: Traffic, podCount: number): number[] {
  const incoming = groups.map(({ links }, own) =>
    links.reduce((sum, { group, called }) => sum + (group === own ? 0 : called), 0),
  );
  const done = new Set<number>();
  const order: number[] = [];
  while (done.size < groups.length) {
    let next = -1;
    for (let group = 0; group < groups.length; group++)
      if (!done.has(group) && (next < 0 || incoming[group]! < incoming[next]!)) next = group;
    done.add(next);
    order.push(...groups[next]!.pods);
    for (const { group, calling } of groups[next]!.links) incoming[group]! -= calling;
  }
  for (let pod = 0; pod < podCount; pod++) if (groupOf[pod]! < 0) order.push(pod);
  return order;
}

export function bySize(sizes: Float64Array): number[] {
  return [...sizes.keys()].sort((a, b) => sizes[b]! - sizes[a]! || a - b);
}
