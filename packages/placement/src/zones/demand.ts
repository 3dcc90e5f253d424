import type { Channel, ClusterGraph, ServiceDemand, WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf } from "../scoring/channel-traffic.ts";

export interface ZoneDemand {
  /** Zone of the callers. Null: unknown location, or no zone. */
  readonly zone: string | null;
  /** Traffic in both directions. */
  readonly bytesPerSecond: number;
  /** Request rate. Null: some channel's requests are not counted. */
  readonly requestsPerSecond: number | null;
}

export interface WorkloadDemand {
  /** Sorted by the callers' zone, unknown last. */
  readonly zones: readonly ZoneDemand[];
  readonly unknownCallers: readonly string[];
}

export interface DemandInput {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly workload: string;
  /** Counts of the callers' proxies; more precise about zones than pods. */
  readonly counted?: ServiceDemand | undefined;
  /** Value of a request without byte counts; 0: requests don't count. */
  readonly bytesPerRequest: number;
}

interface Sum {
  bytesPerSecond: number;
  requestsPerSecond: number | null;
}

/**
 * Divides a channel's traffic evenly over the caller's replicas. Prefers counted requests per zone, and
 * divides the bytes in the same ratio.
 */
export function zoneDemand(input: DemandInput): WorkloadDemand {
  const { workflow, workload, counted } = input;
  const sums = new Map<string | null, Sum>();
  const unknownCallers: string[] = [];
  for (const channel of workflow.channelsTo(workload)) {
    const bytes = knownBytes(channel, input.bytesPerRequest);
    if (bytes === null && channel.requestsPerSecond === null) unknownCallers.push(channel.source);
    else add(sums, zonesOf(input, channel.source), bytes ?? 0, channel.requestsPerSecond);
  }
  const zones = counted === undefined ? null : dividedBy(counted, sums);
  return { zones: zones ?? inOrder(sums), unknownCallers };
}

function knownBytes(channel: Channel, bytesPerRequest: number): number | null {
  return bytesPerSecondOf(
    channel,
    bytesPerRequest > 0
      ? { bytesPerRequest }
      : { bytesPerRequest: null, reason: "requests count for nothing" },
  );
}

/** One entry per caller replica; a single null if the graph shows no replica. */
function zonesOf({ cluster, workflow }: DemandInput, caller: string): readonly (string | null)[] {
  const nodes = [...workflow.replicas(caller).values()];
  if (nodes.length === 0) return [null];
  return nodes.map((node) => (node === null ? null : (cluster.node(node)?.zone ?? null)));
}

function add(
  sums: Map<string | null, Sum>,
  zones: readonly (string | null)[],
  bytes: number,
  requests: number | null,
): void {
  for (const zone of zones) {
    let sum = sums.get(zone);
    if (sum === undefined) sums.set(zone, (sum = { bytesPerSecond: 0, requestsPerSecond: 0 }));
    sum.bytesPerSecond += bytes / zones.length;
    sum.requestsPerSecond =
      requests === null || sum.requestsPerSecond === null
        ? null
        : sum.requestsPerSecond + requests / zones.length;
  }
}

function inOrder(sums: ReadonlyMap<string | null, Sum>): ZoneDemand[] {
  return Array.from(sums, ([zone, sum]) => ({ zone, ...sum })).sort(byZone);
}

function dividedBy({ zones }: ServiceDemand, sums: ReadonlyMap<string | null, Sum>): ZoneDemand[] | null {
  const requests = zones.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  if (!(requests > 0)) return null;
  const bytes = [...sums.values()].reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  return zones
    .map(({ zone, requestsPerSecond }) => ({
      zone,
      requestsPerSecond,
      bytesPerSecond: (bytes * requestsPerSecond) / requests,
    }))
    .sort(byZone);
}

function byZone(a: ZoneDemand, b: ZoneDemand): number {
  if (a.zone === null || b.zone === null) return Number(a.zone === null) - Number(b.zone === null);
  return a.zone < b.zone ? -1 : 1;
}
