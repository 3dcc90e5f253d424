import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { DEFAULT_PLAN_SETTINGS, OVERLOAD_SHARE } from "../planner/objective/plan-settings.ts";
import { AreaLoads, areasOf, carriedMillicores, zoneScopes, type Occupation } from "../zones/area-loads.ts";
import { bytesPerSecondOf, type RequestValue } from "./channel-traffic.ts";
import type { NearestExchange } from "./neighbours.ts";
import type { PodToPlace } from "./problem.ts";

/**
 * Costs of starving zones, priced as in the planner: an overloaded replica costs as much as an overloaded
 * node.
 */
interface StarvingCosts {
  readonly byId: Float64Array;
  /** Value for candidates that the graph lacks. */
  readonly stranger: number;
  /** Excess demand without that replica, millicores. */
  readonly lackMillicores: number;
}

/**
 * Returns null unless all callers prefer their zone and use, available CPU and traffic are known.
 * @param exchanges of the pod's workload
 */
export function starvingCosts(
  pod: PodToPlace,
  graph: ClusterGraph,
  workflow: WorkflowGraph,
  exchanges: readonly NearestExchange[],
  value: RequestValue,
): StarvingCosts | null {
  if (pod.workload === null) return null;
  const channels = workflow.channelsTo(pod.workload);
  const scopes = zoneScopes(channels);
  const use = workflow.workload(pod.workload)?.cpuMillicores ?? null;
  const cpu = pod.cpuLimitMillicores ?? pod.requests?.cpuMillicores;
  const carried = carriedMillicores(cpu, use, DEFAULT_PLAN_SETTINGS.maxCpuUse);
  const rate = channels.reduce((sum, channel) => sum + (bytesPerSecondOf(channel, value) ?? 0), 0);
  const running = [...workflow.replicas(pod.workload).values()].filter((node) => node !== null).length;
  const used = (use ?? 0) * running;
  const called = exchanges.filter(({ calling }) => !calling);
  const medianMs = graph.medianKnownCost();
  if (scopes === null || carried === null || medianMs === null || called.length === 0) return null;
  if (!(rate > 0) || !(used > 0)) return null;

  const { areas, at } = areasOf(graph);
  const occupation = occupationOf(graph, called, used / rate);
  const { caused, endpoints } = occupation;
  const loads = new AreaLoads(areas, scopes, carried);
  const price = (OVERLOAD_SHARE * rate * medianMs) / used;
  const byArea = Float64Array.from(endpoints.keys(), (area) => {
    const more = endpoints.slice();
    more[area]!++;
    return price * loads.excess({ caused, endpoints: more });
  });
  return {
    byId: Float64Array.from(graph.nodes.keys(), (id) => byArea[at(id)]!),
    stranger: byArea[at(-1)]!,
    lackMillicores: loads.excess(occupation),
  };
}

/** @param perByte CPU that callers cause, millicores per byte per second */
function occupationOf(graph: ClusterGraph, called: readonly NearestExchange[], perByte: number): Occupation {
  const { areas, at } = areasOf(graph);
  const caused = new Float64Array(areas.length);
  const endpoints = new Float64Array(areas.length);
  for (const { peers, replicas, bytesPerSecond } of called)
    for (const { id } of peers) caused[at(id)]! += (perByte * bytesPerSecond) / replicas;
  for (const { id } of called[0]!.siblings) endpoints[at(id)]!++;
  return { caused, endpoints };
}
