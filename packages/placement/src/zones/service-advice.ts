import type { ClusterGraph } from "@isochrone/topology";
import type { PodSpec, PodStatus } from "../feasibility/objects/fields.ts";
import { isTerminating, record, records, text, type ApiObject } from "../feasibility/objects/json.ts";
import { podCpuLimit } from "../feasibility/objects/pod-cpu.ts";
import { podRequests } from "../feasibility/objects/pod-requests.ts";
import { zoneAdvice, type ZoneAdvice } from "./advice.ts";
import { endpointsWithCapacity } from "./capacity.ts";
import { zoneDemand, type DemandInput, type ZoneDemand } from "./demand.ts";

interface ServiceAdviceInput extends DemandInput {
  /** Pods that the Service selects, ready or not. */
  readonly pods: readonly ApiObject[];
  /** Usable fraction of the CPU of a node and of an endpoint. */
  readonly maxCpuUse: number;
  /** Demand per zone. @default from the graphs and the counts */
  readonly asked?: readonly ZoneDemand[];
}

/** Predicts the effect of `trafficDistribution: PreferSameZone` on the Service of the workload. */
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
    // A single node has no measured round trip to itself.
    return from === to && a.length === 1 ? 0 : cluster.zoneCostMsById(a[0]!, b[0]!);
  };
}
