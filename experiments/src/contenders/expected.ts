// What monitoring will show of a point on average, from the scenario itself: for those that are no contenders but yardsticks.
import { ratesOf, visitsOf } from "../run/facts.ts";
import type { Point } from "../scenario/model.ts";
import type { Observation, ObservedChannel } from "./port.ts";

/** As an ingress at the users' node would be called. */
export const USERS = "users";
export function expectedOf(point: Point): Observation {
  const { workflow, load, cluster } = point;
  const perSecond = load.users * load.requestsPerSecondPerUser;
  const visits = visitsOf(point);
  const use = workflow.workloads.map(({ name, cpuMs, replicas, memoryBytes }) => {
    // A core that works for a millisecond each second is a thousandth of it.
    const cpuMillicores = (perSecond * visits.get(name)! * cpuMs) / replicas;
    return [name, { cpuMillicores, memoryBytes }] as const;
  });
  const traffic = ratesOf(point).map(({ caller, callee, perSecond: rate, bytes }): ObservedChannel => {
    return {
      source: caller.name,
      target: callee.name,
      requestsPerSecond: rate,
      bytesPerSecond: rate * bytes,
    };
  });
  return { cluster, use: new Map(use), traffic: [...traffic, ...usersOf(point, perSecond, traffic)] };
}

/** Their messages have no size in scenarios: they count as the others do on average. */
function usersOf(
  { workflow }: Point,
  perSecond: number,
  traffic: readonly ObservedChannel[],
): ObservedChannel[] {
  if (workflow.usersAt === null) return [];
  const requests = traffic.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  const bytes = traffic.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  const bytesPerSecond = requests === 0 ? perSecond : (perSecond * bytes) / requests;
  return [{ source: USERS, target: workflow.entry, requestsPerSecond: perSecond, bytesPerSecond }];
}
