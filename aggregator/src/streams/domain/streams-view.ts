import {
  streamFlowId,
  type FlowPlan,
  type StreamJobView,
  type StreamLinkView,
  type StreamsSnapshot,
  type WorkflowGraphSnapshot,
} from "@isochrone/topology";

interface StreamsInput {
  /** Without measurements. */
  readonly jobs: readonly StreamJobView[];
  readonly plans: readonly FlowPlan[];
  readonly graphs: Iterable<WorkflowGraphSnapshot>;
  readonly nowMs: number;
}

/** Bits per second by flow id; absent: unknown. */
type Sent = ReadonlyMap<string, number>;

export function streamsView({ jobs, plans, graphs, nowMs }: StreamsInput): StreamsSnapshot {
  const sent = sentOf(plans, graphs);
  return {
    observedAt: new Date(nowMs).toISOString(),
    jobs: jobs.map((job) => measured(job, sent)),
    links: linksOf(plans, sent),
  };
}

/** A channel has the sum of its flows, so rates of flows that share one are unknown. */
function sentOf(plans: readonly FlowPlan[], graphs: Iterable<WorkflowGraphSnapshot>): Sent {
  const achieved = new Map<string, number>();
  for (const { namespace, channels } of graphs)
    for (const { source, target, flow } of channels)
      if (flow !== undefined) achieved.set(channelKey(namespace, source, target), flow.achievedBitsPerSecond);
  const ofChannel = new Map<string, string[]>();
  for (const { flows } of plans)
    for (const { id, owner, channel, previous } of flows) {
      if (previous !== null || channel === undefined) continue;
      const key = channelKey(owner.namespace, channel.source, channel.target);
      ofChannel.set(key, [...(ofChannel.get(key) ?? []), id]);
    }
  const sent = new Map<string, number>();
  for (const [key, [id, ...others]] of ofChannel) {
    const rate = achieved.get(key);
    if (rate !== undefined && id !== undefined && others.length === 0) sent.set(id, rate);
  }
  return sent;
}

function channelKey(...parts: readonly [namespace: string, source: string, target: string]): string {
  return parts.join("\n");
}

/** Every frame crosses every flow, so the slowest flow limits the job. */
function measured(job: StreamJobView, sent: Sent): StreamJobView {
  const flows = job.flows.map((flow) => ({
    ...flow,
    sentBitsPerSecond: sent.get(streamFlowId(job, flow)) ?? null,
  }));
  let slowest: number | null = flows.length === 0 ? null : Infinity;
  for (const { sentBitsPerSecond, bytesPerFrame } of flows)
    slowest =
      slowest === null || sentBitsPerSecond === null || bytesPerFrame <= 0
        ? null
        : Math.min(slowest, sentBitsPerSecond / (8 * bytesPerFrame));
  return { ...job, flows, measuredFramesPerSecond: slowest };
}

function linksOf(plans: readonly FlowPlan[], sent: Sent): StreamLinkView[] {
  const links: StreamLinkView[] = [];
  for (const { node, neighbours, flows } of plans)
    for (const neighbour of neighbours) {
      const crossing = flows
        .filter(({ next }) => next === neighbour.node)
        .map(({ id, bitsPerSecond }) => ({ id, bitsPerSecond, sentBitsPerSecond: sent.get(id) ?? null }));
      if (crossing.length === 0) continue;
      links.push({
        source: node,
        target: neighbour.node,
        capacityBitsPerSecond: neighbour.capacityBitsPerSecond,
        plannedBitsPerSecond: crossing.reduce((sum, { bitsPerSecond }) => sum + bitsPerSecond, 0),
        sentBitsPerSecond: sumOf(crossing.map(({ sentBitsPerSecond }) => sentBitsPerSecond)),
        flows: crossing.sort((a, b) => b.bitsPerSecond - a.bitsPerSecond),
      });
    }
  return links.sort((a, b) => useOf(b) - useOf(a) || (nameOf(a) < nameOf(b) ? -1 : 1));
}

function sumOf(rates: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const rate of rates) {
    if (rate === null) return null;
    sum += rate;
  }
  return sum;
}

/** Planned share of the capacity; links of unknown capacity sort last. */
function useOf({ plannedBitsPerSecond, capacityBitsPerSecond }: StreamLinkView): number {
  return capacityBitsPerSecond === null ? -1 : plannedBitsPerSecond / capacityBitsPerSecond;
}

function nameOf({ source, target }: StreamLinkView): string {
  return `${source} ${target}`;
}
