import type { Placement } from "../../contenders/port.ts";
import type { Change, Point, PointCall, PointLoad, PointWorkload } from "../../scenario/model.ts";

interface PointParts {
  readonly workloads: readonly PointWorkload[];
  readonly cores: readonly number[];
  /** Between any two nodes, or a full matrix. @default 0 */
  readonly rttMs?: number | readonly (readonly number[])[];
  readonly load?: Partial<PointLoad>;
  readonly usersAt?: string;
  readonly changes?: readonly Change[];
}

/** Nodes n1, n2, ... in separate regions; the first workload is the entry. */
export function pointOf({ workloads, cores, rttMs = 0, load, usersAt, changes = [] }: PointParts): Point {
  const nodes = cores.map((count, index) => ({
    name: `n${index + 1}`,
    zone: `z${index + 1}`,
    region: `r${index + 1}`,
    cpuMillicores: count * 1000,
    memoryBytes: 8 * 2 ** 30,
  }));
  const matrix =
    typeof rttMs === "number" ? nodes.map((_, i) => nodes.map((_, j) => (i === j ? 0 : rttMs))) : rttMs;
  return {
    id: "point",
    labels: {},
    cluster: { nodes, rttMs: matrix },
    workflow: { name: "workflow", workloads, entry: workloads[0]!.name, usersAt: usersAt ?? null },
    load: { users: 10, requestsPerSecondPerUser: 1, warmUpSeconds: 1, durationSeconds: 10, ...load },
    changes,
  };
}

export function workloadOf(name: string, parts: Partial<PointWorkload> = {}): PointWorkload {
  return {
    name,
    replicas: 1,
    requests: { cpuMillicores: 100, memoryBytes: 2 ** 27 },
    memoryBytes: 2 ** 27,
    cpuMs: 1,
    cpuSpread: "fixed",
    calls: [],
    pinnedTo: null,
    ...parts,
  };
}

export const callTo = (callee: string, parts: Partial<PointCall> = {}): PointCall => ({
  callee,
  requestBytes: 256,
  responseBytes: 1024,
  probability: 1,
  ...parts,
});

export function placed(pods: Readonly<Record<string, readonly string[]>>): Placement {
  return new Map(Object.entries(pods).flatMap(([node, names]) => names.map((pod) => [pod, node] as const)));
}

/** m0 calls m1 and m2, m1 calls m3, m2 calls m3 and m4: five workloads, six calls per request. */
export function fiveWorkloads(cpuMs: number, cpuSpread: "fixed" | "exponential" = "fixed"): PointWorkload[] {
  const parts = { cpuMs, cpuSpread };
  return [
    workloadOf("m0", { ...parts, calls: [callTo("m1"), callTo("m2")] }),
    workloadOf("m1", { ...parts, calls: [callTo("m3")] }),
    workloadOf("m2", { ...parts, calls: [callTo("m3"), callTo("m4")] }),
    workloadOf("m3", parts),
    workloadOf("m4", parts),
  ];
}
