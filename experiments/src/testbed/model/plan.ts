import type { Placement } from "../../contenders/port.ts";
import type { Point, PointNode } from "../../scenario/model.ts";
import { NONE } from "./call-table.ts";

/** A placed workflow with positions instead of names. Immutable; the simulation holds the state. */
export interface Plan {
  readonly cores: readonly number[];
  readonly podNames: readonly string[];
  readonly podWorkload: Int32Array;
  /** Initial node. */
  readonly podNode: Int32Array;
  /** Pods of workload w: `firstPod[w]` to `firstPod[w + 1]`, exclusive. */
  readonly firstPod: Int32Array;
  readonly cpuMs: Float64Array;
  readonly isExponential: Uint8Array;
  /** Edges of a workload, likewise. */
  readonly firstEdge: Int32Array;
  readonly edgeCaller: Int32Array;
  readonly edgeCallee: Int32Array;
  readonly edgeProbability: Float64Array;
  readonly edgeBytes: Float64Array;
  /** Zone by node if callers prefer their own zone; null: round-robin over all. */
  readonly zoneOf: Int32Array | null;
  readonly entry: number;
  /** -1: beside the entry. */
  readonly usersAt: number;
}

class PlacementError extends Error {
  override readonly name = "PlacementError";
}

export const podName = (workload: string, index: number): string => `${workload}-${index}`;

/** @throws PlacementError for a pod without a node, or on an unknown one */
export function planOf(point: Point, placement: Placement): Plan {
  const { workloads, entry, usersAt } = point.workflow;
  const nodes = new Map(point.cluster.nodes.map(({ name }, index) => [name, index]));
  const position = new Map(workloads.map(({ name }, index) => [name, index]));
  const pods = workloads.flatMap(({ name, replicas }, workload) =>
    Array.from({ length: replicas }, (_, index) => ({ name: podName(name, index), workload })),
  );
  const edges = workloads.flatMap(({ calls }, caller) => calls.map((call) => ({ caller, call })));
  return {
    cores: point.cluster.nodes.map(({ cpuMillicores }) => cpuMillicores / 1000),
    podNames: pods.map(({ name }) => name),
    podWorkload: Int32Array.from(pods, ({ workload }) => workload),
    podNode: Int32Array.from(pods, ({ name }) => nodeOf(name, placement, nodes)),
    firstPod: starts(workloads.map(({ replicas }) => replicas)),
    cpuMs: Float64Array.from(workloads, ({ cpuMs }) => cpuMs),
    isExponential: Uint8Array.from(workloads, ({ cpuSpread }) => (cpuSpread === "exponential" ? 1 : 0)),
    firstEdge: starts(workloads.map(({ calls }) => calls.length)),
    edgeCaller: Int32Array.from(edges, ({ caller }) => caller),
    edgeCallee: Int32Array.from(edges, ({ call }) => position.get(call.callee)!),
    edgeProbability: Float64Array.from(edges, ({ call }) => call.probability),
    edgeBytes: Float64Array.from(edges, ({ call }) => call.requestBytes + call.responseBytes),
    zoneOf: point.workflow.prefersSameZone === true ? zonesOf(point.cluster.nodes) : null,
    entry: position.get(entry)!,
    usersAt: usersAt === null ? NONE : nodes.get(usersAt)!,
  };
}

function zonesOf(nodes: readonly PointNode[]): Int32Array {
  const zones = [...new Set(nodes.map(({ zone }) => zone))];
  return Int32Array.from(nodes, ({ zone }) => zones.indexOf(zone));
}

function nodeOf(pod: string, placement: Placement, nodes: ReadonlyMap<string, number>): number {
  const node = placement.get(pod);
  const index = node === undefined ? undefined : nodes.get(node);
  if (index !== undefined) return index;
  throw new PlacementError(`pod ${pod} must be placed on a node of the cluster, got ${node ?? "none"}`);
}

function starts(counts: readonly number[]): Int32Array {
  const result = new Int32Array(counts.length + 1);
  for (const [index, count] of counts.entries()) result[index + 1] = result[index]! + count;
  return result;
}
