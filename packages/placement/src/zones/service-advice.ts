// The advice for a Service from what is known of it: graphs, pods, and what proxies count.
import type { ClusterGraph } from "@isochrone/topology";
import type { PodSpec, PodStatus } from "../feasibility/objects/fields.ts";
import { isTerminating, record, records, text, type ApiObject } from "../feasibility/objects/json.ts";
import { podCpuLimit } from "../feasibility/objects/pod-cpu.ts";
import { podRequests } from "../feasibility/objects/pod-requests.ts";
import { zoneAdvice, type ZoneAdvice } from "./advice.ts";
import { endpointsWithCapacity } from "./capacity.ts";
import { zoneDemand, type DemandInput, type ZoneDemand } from "./demand.ts";

interface ServiceAdviceInput extends DemandInput {
  /** Those that the Service selects, ready or not. */
  readonly pods: readonly ApiObject[];
  /** Share of a node's CPU, and of an endpoint's, that may be used. */
  readonly maxCpuUse: number;
  /** What each zone would ask. @default as the graphs and what is counted show it */
  readonly asked?: readonly ZoneDemand[];
}

/** What `trafficDistribution: PreferSameZone` would do to the Service in front of the workload. */
export function serviceZoneAdvice(input: ServiceAdviceInput): ZoneAdvice {
  const { cluster, workflow, workload, pods, maxCpuUse, asked } = input;
  const demand = zoneDemand(input);
  const cpuMillicores = workflow.workload(workload)?.cpuMillicores ?? null;
  const ready = pods.filter(isReady).map((pod) => ({
    name: pod.metadata.name,
    node: text(record<PodSpec>(pod.spec).nodeName),
    cpuRequestMillicores: podRequests(pod, true).requests.get("cpu") ?? null,
    cpuLimitMillicores: podCpuLimit(record<PodSpec>(pod.spec)),
  }));
  return zoneAdvice({
    demand: asked === undefined ? demand : { ...demand, zones: asked },
    endpoints: endpointsWithCapacity({ cluster, pods: ready, cpuMillicores, maxCpuUse }),
    cpuMillicores,
    maxCpuUse,
    roundTripMs: zoneRoundTrips(cluster),
  });
}

function isReady(pod: ApiObject): boolean {
  const conditions = records(record<PodStatus>(pod.status).conditions);
  return !isTerminating(pod) && conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function zoneRoundTrips(cluster: ClusterGraph): (from: string, to: string) => number | null {
  const byZone = Map.groupBy(cluster.nodes.keys(), (id) => cluster.nodes[id]!.zone);
  return (from, to) => {
    const [a, b] = [byZone.get(from), byZone.get(to)];
    if (a === undefined || b === undefined) return null;
    // Of one node alone nobody measures anything.
    return from === to && a.length === 1 ? 0 : cluster.zoneCostMsById(a[0]!, b[0]!);
  };
}
