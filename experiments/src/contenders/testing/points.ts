import { systemClock } from "@isochrone/runtime";
import type { Point, PointCall, PointCluster, PointNode, PointWorkload } from "../../scenario/model.ts";
import type { ContenderDeps } from "../deps.ts";
import type { Observation, ObservedChannel } from "../port.ts";

const GI = 1024 ** 3;
export const MI = 1024 ** 2;

/** 2 CPUs and 8 GiB in its own zone and region. */
export function aNode(name: string, fields: Partial<PointNode> = {}): PointNode {
  return {
    name,
    zone: `zone-${name}`,
    region: `region-${name}`,
    cpuMillicores: 2_000,
    memoryBytes: 8 * GI,
    ...fields,
  };
}

/** One replica that requests 100m and 128Mi. */
export function aWorkload(
  name: string,
  callees: readonly string[] = [],
  fields: Partial<PointWorkload> = {},
): PointWorkload {
  return {
    name,
    replicas: 1,
    requests: { cpuMillicores: 100, memoryBytes: 128 * MI },
    memoryBytes: 128 * MI,
    cpuMs: 1,
    cpuSpread: "fixed",
    calls: callees.map((callee): PointCall => {
      return { callee, requestBytes: 500, responseBytes: 1_500, probability: 1 };
    }),
    pinnedTo: null,
    ...fields,
  };
}

/** @param rttMs constant, or by node positions */
export function aCluster(
  nodes: readonly PointNode[],
  rttMs: number | readonly (readonly number[])[] = 10,
): PointCluster {
  if (typeof rttMs !== "number") return { nodes, rttMs };
  return { nodes, rttMs: nodes.map((_, a) => nodes.map((_, b) => (a === b ? 0 : rttMs))) };
}

export function aPoint(
  cluster: PointCluster,
  workloads: readonly PointWorkload[],
  labels: Point["labels"] = {},
): Point {
  return {
    id: "point",
    labels,
    cluster,
    workflow: { name: "flow", workloads, entry: workloads[0]!.name, usersAt: null },
    load: { users: 10, requestsPerSecondPerUser: 1, warmUpSeconds: 0, durationSeconds: 10 },
    changes: [],
  };
}

/** All workloads have the given usage; only the given channels carry traffic. */
export function observed(
  { cluster, workflow }: Point,
  traffic: readonly (readonly [source: string, target: string, bytesPerSecond: number])[],
  cpuMillicores = 100,
): Observation {
  return {
    cluster,
    use: new Map(workflow.workloads.map(({ name, memoryBytes }) => [name, { cpuMillicores, memoryBytes }])),
    traffic: traffic.map(([source, target, bytesPerSecond]): ObservedChannel => {
      return { source, target, bytesPerSecond, requestsPerSecond: bytesPerSecond / 2_000 };
    }),
  };
}

/** The service's defaults, with another planning time. */
export const DEPS: ContenderDeps = {
  clock: systemClock,
  product: {
    planner: {
      // Small plans end by effort, even on a busy machine.
      planMs: 20_000,
      seed: 1,
      exact: true,
      maxCpuUse: 0.75,
      hostnameMaxSkew: 3,
      zoneMaxSkew: 5,
      minNodes: 2,
      minZones: 2,
    },
    descheduler: {
      intervalMs: 60_000,
      minGainRatio: 0.1,
      minWorkflowGainRatio: 0.005,
      minGain: 1_000,
      rounds: 3,
      maxEvictions: 10,
      maxEvictionsPerNode: 3,
      maxEvictionsPerNamespace: 5,
      maxEvictionsPerHour: 60,
      maxGroup: 3,
      maxUnreadyRatio: 0.1,
      allowLocalStorage: false,
      allowStatefulSets: false,
      allowSingleReplicas: false,
    },
  },
};
