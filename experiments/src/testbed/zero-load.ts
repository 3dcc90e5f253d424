import type { Placement } from "../contenders/port.ts";
import type { Point } from "../scenario/model.ts";

/** Maximum time of a lone request, ms: the longest path with all calls, over the farthest replicas. */
export function zeroLoadMs(point: Point, placement: Placement, hopMs: number): number {
  const { cluster, workflow } = point;
  const nodes = new Map(cluster.nodes.map(({ name }, index) => [name, index]));
  const workloads = new Map(workflow.workloads.map((workload) => [workload.name, workload]));
  const nodesOf = (workload: string): number[] =>
    Array.from(
      { length: workloads.get(workload)!.replicas },
      (_, index) => nodes.get(placement.get(`${workload}-${index}`) ?? "") ?? 0,
    );
  const known = new Map<string, number>();
  const from = (workload: string, node: number): number => {
    const key = `${workload} ${node}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const { cpuMs, calls } = workloads.get(workload)!;
    const waits = calls.flatMap(({ callee }) => nodesOf(callee).map((to) => reach(callee, node, to)));
    const totalMs = cpuMs + Math.max(0, ...waits);
    known.set(key, totalMs);
    return totalMs;
  };
  const reach = (callee: string, node: number, to: number): number =>
    cluster.rttMs[node]![to]! + 2 * hopMs + from(callee, to);
  const users = workflow.usersAt === null ? null : nodes.get(workflow.usersAt)!;
  return Math.max(...nodesOf(workflow.entry).map((to) => reach(workflow.entry, users ?? to, to)));
}
