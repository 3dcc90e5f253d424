import type { Placement } from "../../../contenders/port.ts";
import type { Point, PointWorkload } from "../../../scenario/model.ts";
import { podName } from "../../model/plan.ts";

/** Load of the busiest pod, as a share of one core. */
export const LOADS = { low: 0.15, medium: 0.5, high: 0.75 } as const;
export type LoadName = keyof typeof LOADS;

export interface ValidationPoint {
  readonly name: string;
  readonly load: LoadName;
  readonly rttMs: number;
  readonly point: Point;
  readonly placement: Placement;
}

const CPU_MS = 10;
/** Calls of the busiest pod per user request. */
const BUSIEST_CALLS = 2;
const NODES = ["n1", "n2", "n3"];
const NODE_OF: Readonly<Record<string, string>> = { m0: "n1", m1: "n1", m2: "n2", m3: "n2", m4: "n3" };
const CALLS: Readonly<Record<string, readonly string[]>> = { m0: ["m1", "m2"], m1: ["m3"], m2: ["m3", "m4"] };

/**
 * Five workloads on three nodes of 1.5 cores: parallel calls, a pod with two callers, pods that share a
 * node's CPU, exponential work. Covers all effects of the model, and is small enough for a lab machine.
 */
export function validationPoint(load: LoadName, rttMs: number): ValidationPoint {
  const workloads = Object.keys(NODE_OF).map((name): PointWorkload => ({
    name,
    replicas: 1,
    requests: { cpuMillicores: 100, memoryBytes: 2 ** 27 },
    memoryBytes: 2 ** 27,
    cpuMs: CPU_MS,
    cpuSpread: "exponential",
    calls: (CALLS[name] ?? []).map((callee) => ({
      callee,
      requestBytes: 256,
      responseBytes: 2_048,
      probability: 1,
    })),
    pinnedTo: null,
  }));
  const users = Math.max(1, Math.round((LOADS[load] * 1000) / (BUSIEST_CALLS * CPU_MS)));
  return { ...placedPoint(`${load} load, ${rttMs} ms`, workloads, rttMs, users), load, rttMs };
}

/** Without work and almost without load, so only network and hop overhead remain. */
export function idlePoint(rttMs: number): Pick<ValidationPoint, "point" | "placement"> {
  const { point, placement } = validationPoint("low", rttMs);
  const workloads = point.workflow.workloads.map((workload): PointWorkload => ({
    ...workload,
    cpuMs: 1,
    cpuSpread: "fixed",
  }));
  return { point: { ...point, workflow: { ...point.workflow, workloads } }, placement };
}

function placedPoint(
  name: string,
  workloads: readonly PointWorkload[],
  rttMs: number,
  users: number,
): Pick<ValidationPoint, "name" | "point" | "placement"> {
  const nodes = NODES.map((node) => ({
    name: node,
    zone: node,
    region: node,
    cpuMillicores: 1_500,
    memoryBytes: 8 * 2 ** 30,
  }));
  const point: Point = {
    id: name,
    labels: {},
    cluster: { nodes, rttMs: nodes.map((_, i) => nodes.map((_, j) => (i === j ? 0 : rttMs))) },
    workflow: { name: "validation", workloads, entry: workloads[0]!.name, usersAt: null },
    load: { users, requestsPerSecondPerUser: 1, warmUpSeconds: 10, durationSeconds: 60 },
    changes: [],
  };
  return { name, point, placement: new Map(workloads.map((w) => [podName(w.name, 0), NODE_OF[w.name]!])) };
}
