// Jobs and links as they stand: what is planned, and what flows have sent of it.
import {
  streamFlowId,
  type FlowPlan,
  type StreamJobView,
  type StreamLinkView,
  type StreamsSnapshot,
} from "@isochrone/topology";

interface StreamsInput {
  /** Without measured figures. */
  readonly jobs: readonly StreamJobView[];
  readonly plans: Iterable<FlowPlan>;
  /** Bits per second that a node sends of a flow; null: unknown. */
  readonly sent: (node: string, flow: string) => number | null;
  readonly nowMs: number;
}

export function streamsView({ jobs, plans, sent, nowMs }: StreamsInput): StreamsSnapshot {
  return {
    observedAt: new Date(nowMs).toISOString(),
    jobs: jobs.map((job) => measured(job, sent)),
    links: linksOf(plans, sent),
  };
}

/** Every frame crosses every flow: the job goes as fast as its slowest one has sent. */
function measured(job: StreamJobView, sent: StreamsInput["sent"]): StreamJobView {
  const flows = job.flows.map((flow) => ({
    ...flow,
    sentBitsPerSecond: sent(flow.route[0] ?? "", streamFlowId(job, flow)),
  }));
  let slowest: number | null = flows.length === 0 ? null : Infinity;
  for (const { sentBitsPerSecond, bytesPerFrame } of flows)
    slowest =
      slowest === null || sentBitsPerSecond === null || bytesPerFrame <= 0
        ? null
        : Math.min(slowest, sentBitsPerSecond / (8 * bytesPerFrame));
  return { ...job, flows, measuredFramesPerSecond: slowest };
}

function linksOf(plans: Iterable<FlowPlan>, sent: StreamsInput["sent"]): StreamLinkView[] {
  const links: StreamLinkView[] = [];
  for (const { node, neighbours, flows } of plans)
    for (const neighbour of neighbours) {
      const crossing = flows
        .filter(({ next }) => next === neighbour.node)
        .map(({ id, bitsPerSecond }) => ({ id, bitsPerSecond, sentBitsPerSecond: sent(node, id) }));
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

/** Null as soon as one is unknown. */
function sumOf(rates: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const rate of rates) {
    if (rate === null) return null;
    sum += rate;
  }
  return sum;
}

/** Part of the capacity that is planned; links of unknown capacity come last. */
function useOf({ plannedBitsPerSecond, capacityBitsPerSecond }: StreamLinkView): number {
  return capacityBitsPerSecond === null ? -1 : plannedBitsPerSecond / capacityBitsPerSecond;
}

function nameOf({ source, target }: StreamLinkView): string {
  return `${source} ${target}`;
}
