import type { Point, PointWorkload } from "./model.ts";

interface ChannelRate {
  readonly caller: PointWorkload;
  readonly callee: PointWorkload;
  readonly perSecond: number;
  /** Bytes per call, both directions. */
  readonly bytes: number;
}

/** Calls of each workload per user request. */
export function visitsOf({ workflow }: Point): ReadonlyMap<string, number> {
  const visits = new Map(workflow.workloads.map(({ name }) => [name, name === workflow.entry ? 1 : 0]));
  for (const { name, calls } of workflow.workloads)
    for (const { callee, probability } of calls)
      visits.set(callee, visits.get(callee)! + visits.get(name)! * probability);
  return visits;
}

export function ratesOf(point: Point): readonly ChannelRate[] {
  const { users, requestsPerSecondPerUser } = point.load;
  const visits = visitsOf(point);
  const byName = new Map(point.workflow.workloads.map((workload) => [workload.name, workload]));
  return point.workflow.workloads.flatMap((caller) =>
    caller.calls.map(({ callee, probability, requestBytes, responseBytes }) => ({
      caller,
      callee: byName.get(callee)!,
      perSecond: users * requestsPerSecondPerUser * visits.get(caller.name)! * probability,
      bytes: requestBytes + responseBytes,
    })),
  );
}
