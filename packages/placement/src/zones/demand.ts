// What each zone asks of a workload, from the graphs.
import type { Channel, ClusterGraph, ServiceDemand, WorkflowGraph } from "@isochrone/topology";
import { bytesPerSecondOf } from "../scoring/channel-traffic.ts";

/** What the callers in a zone ask. */
export interface ZoneDemand {
  /** null: nobody knows where these callers are, or their nodes have no zone. */
  readonly zone: string | null;
  /** Both directions together. */
  readonly bytesPerSecond: number;
  /** null: nobody counts the requests of some channel. */
  readonly requestsPerSecond: number | null;
}

export interface WorkloadDemand {
  /** By zone of the callers, sorted; that of unknown places last. */
  readonly zones: readonly ZoneDemand[];
  /** Callers whose traffic nobody knows. */
  readonly unknownCallers: readonly string[];
}

export interface DemandInput {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  /** Name of the workload that is called. */
  readonly workload: string;
  /** Counted by the proxies of the callers, where it is known. Tells zones apart better than pods do. */
  readonly counted?: ServiceDemand | undefined;
  /** What a request counts as where nobody counts bytes; 0: nothing. */
  readonly bytesPerRequest: number;
}

interface Sum {
  bytesPerSecond: number;
  requestsPerSecond: number | null;
}

/**
 * A channel's traffic comes evenly from the replicas of its caller. Where the requests of each zone are
 * counted, these count, and the bytes are divided as they are.
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

/** One for each replica of the caller; a single unknown one where the graph shows none. */
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

/** null: nothing is counted. */
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
