import type { Observation, ObservedChannel } from "../contenders/port.ts";
import { mergedChannels, usersChannel } from "../contenders/traffic.ts";
import type { PointCluster, PointWorkflow } from "../scenario/model.ts";

/** Counts of an interval. Workloads and edges by position; edges in the order of callers and their calls. */
interface Counted {
  readonly seconds: number;
  /** User requests, answered or not. */
  readonly userRequestsPerSecond: number;
  /** Sum over the workload's pods. */
  cpuSeconds(workload: number): number;
  requests(edge: number): number;
  /** Both directions. */
  bytes(edge: number): number;
}

/** Converts counts to rates and means per pod. Omits channels without traffic, as metrics do. */
export function observe(workflow: PointWorkflow, cluster: PointCluster, counted: Counted): Observation {
  const { seconds } = counted;
  const use = new Map(
    workflow.workloads.map(({ name, replicas, memoryBytes }, index) => {
      const cpuMillicores = (counted.cpuSeconds(index) * 1000) / seconds / replicas;
      return [name, { cpuMillicores, memoryBytes }] as const;
    }),
  );
  const edges = workflow.workloads.flatMap(({ name, calls }) =>
    calls.map(({ callee }) => ({ source: name, target: callee })),
  );
  const calls = edges.map(({ source, target }, edge): ObservedChannel => ({
    source,
    target,
    requestsPerSecond: counted.requests(edge) / seconds,
    bytesPerSecond: counted.bytes(edge) / seconds,
  }));
  const traffic = mergedChannels(calls);
  const seen = [...traffic, ...usersChannel(workflow, counted.userRequestsPerSecond, traffic)];
  return { cluster, use, traffic: seen.filter(({ requestsPerSecond }) => requestsPerSecond > 0) };
}
