// KEP-260's Go plugins as coded: pods in TopologicalSort order, NetworkOverhead filters and scores. They move
// no pods.
import { createNetworkOverhead, workloadOrder } from "@isochrone/placement";
import type { SortAlgorithm } from "@isochrone/placement";
import type { DeclaredCosts } from "@isochrone/topology";
import type { PointCluster, PointWorkflow } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import { clusterGraph, workflowGraph } from "./graphs.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { staying } from "./pods.ts";
import type { Placement } from "./port.ts";
import { StayingContender } from "./scheduling-contender.ts";
import type { SchedulingInput } from "./scheduling-contender.ts";
import { strategyPlugin } from "./strategy-plugin.ts";

/** Source: manifests/networktopology/scheduler-config.yaml of scheduler-plugins. */
const NETWORK_OVERHEAD_WEIGHT = 5;
/** Same file: "preferably avoid the combination of NodeResourcesFit with NetworkOverhead". */
const WEIGHTS = { NodeResourcesFit: 0 } as const;
/** Source: appgroup-api, manifests/onlineBoutique-appGroup-example.yaml. */
const SORT: SortAlgorithm = "AlternateKahn";

export class UpstreamContender extends StayingContender {
  readonly id = "upstream";
  readonly by =
    "TopologicalSort and NetworkOverhead of KEP-260 as coded, in an imitation of kube-scheduler 1.35";
  readonly #strategy = createNetworkOverhead("upstream");

  protected schedule({ point, before, request, random }: SchedulingInput): Placement {
    const cluster = before?.cluster ?? point.cluster;
    const costs = networkTopology(cluster);
    const graphs = {
      cluster: clusterGraph(cluster, { declaredCosts: costs }),
      workflow: workflowGraph(point, before, {
        placement: staying(request),
        // As in that AppGroup. The plugin reads only dependencies, so a pod placed before its dependencies
        // would be placed blindly.
        bothWays: true,
        maxNetworkCost: highest(costs),
      }),
    };
    const extra = strategyPlugin(this.#strategy, NETWORK_OVERHEAD_WEIGHT, graphs);
    return scheduleAll(inTopologicalOrder(request, point.workflow), random, { weights: WEIGHTS, extra });
  }
}

/** An AppGroup with calls in both directions. For cycles, upstream keeps the order of the spec. */
function inTopologicalOrder(request: SchedulingRequest, workflow: PointWorkflow): SchedulingRequest {
  const { order } = workloadOrder(appGroup(workflow), SORT);
  const indexOf = new Map(order.map(({ workload, index }) => [workload.selector, index]));
  const pods = request.pods.toSorted((a, b) => indexOf.get(a.workload)! - indexOf.get(b.workload)!);
  return { ...request, pods };
}

function appGroup({ workloads }: PointWorkflow): object {
  const named = (name: string): object => ({ kind: "Deployment", name, selector: name });
  return {
    topologySortingAlgorithm: SORT,
    workloads: workloads.map(({ name, calls }) => {
      const callers = workloads.filter((other) => other.calls.some(({ callee }) => callee === name));
      const peers = new Set([...calls.map(({ callee }) => callee), ...callers.map((caller) => caller.name)]);
      return {
        workload: named(name),
        dependencies: [...peers].map((peer) => ({ workload: named(peer) })),
      };
    }),
  };
}

/** Mean round trips between regions and between a region's zones, in whole ms like upstream's controller. */
export function networkTopology({ nodes, rttMs }: PointCluster): DeclaredCosts {
  const regions = new Map<string, Costs>();
  const zones = new Map<string, Costs>();
  for (const [from, a] of nodes.entries()) {
    for (const [to, b] of nodes.entries()) {
      const ms = rttMs[from]![to]!;
      if (a.region !== b.region) append(regions, a.region, b.region, ms);
      else if (a.zone !== b.zone) append(zones, a.zone, b.zone, ms);
    }
  }
  return { source: "round trips", unitMs: 1, zones: entries(zones), regions: entries(regions) };
}

interface Costs {
  readonly from: string;
  readonly to: string;
  readonly allMs: number[];
}

function append(lists: Map<string, Costs>, from: string, to: string, ms: number): void {
  const key = JSON.stringify([from, to]);
  const list = lists.get(key);
  if (list === undefined) lists.set(key, { from, to, allMs: [ms] });
  else list.allMs.push(ms);
}

function entries(lists: ReadonlyMap<string, Costs>): DeclaredCosts["zones"] {
  return Array.from(lists.values(), ({ from, to, allMs }) => ({
    from,
    to,
    cost: Math.max(1, Math.round(mean(allMs))),
  }));
}

/** The highest cost, so that no dependency exceeds its limit: a missing limit counts as 0. */
function highest({ zones, regions }: DeclaredCosts): number {
  return Math.max(1, ...[...zones, ...regions].map(({ cost }) => cost));
}
