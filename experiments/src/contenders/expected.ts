// Expected observation of a point, computed from the scenario. For yardsticks, not for contenders.
import { ratesOf, visitsOf } from "../scenario/rates.ts";
import type { Point } from "../scenario/model.ts";
import type { Observation, ObservedChannel } from "./port.ts";
import { mergedChannels, usersChannel } from "./traffic.ts";

export function expectedOf(point: Point): Observation {
  const { workflow, load, cluster } = point;
  const perSecond = load.users * load.requestsPerSecondPerUser;
  const visits = visitsOf(point);
  const use = workflow.workloads.map(({ name, cpuMs, replicas, memoryBytes }) => {
    // Working 1 ms per second uses a thousandth of a core.
    const cpuMillicores = (perSecond * visits.get(name)! * cpuMs) / replicas;
    return [name, { cpuMillicores, memoryBytes }] as const;
  });
  const calls = ratesOf(point).map(({ caller, callee, perSecond: rate, bytes }): ObservedChannel => {
    return {
      source: caller.name,
      target: callee.name,
      requestsPerSecond: rate,
      bytesPerSecond: rate * bytes,
    };
  });
  const traffic = mergedChannels(calls);
  return { cluster, use: new Map(use), traffic: [...traffic, ...usersChannel(workflow, perSecond, traffic)] };
}
