// Figures of a placement, computed from the scenario: call rates and round trips.
import type { Random } from "@isochrone/runtime";
import type { Placement } from "../contenders/port.ts";
import type { Point } from "../scenario/model.ts";
import { ratesOf, visitsOf } from "../scenario/rates.ts";
import type { PlacementFacts } from "./result.ts";

/** Assumes that replicas share calls evenly on both sides. */
export function factsOf(point: Point, placement: Placement): PlacementFacts {
  const at = positions(point, placement);
  let [cost, trafficCost, total, together] = [0, 0, 0, 0];
  const add = (
    from: readonly number[],
    to: readonly number[],
    perSecond: number,
    bytes: number,
    isCall: boolean,
  ): void => {
    const share = perSecond / (from.length * to.length);
    for (const a of from)
      for (const b of to) {
        cost += share * point.cluster.rttMs[a]![b]!;
        trafficCost += share * bytes * point.cluster.rttMs[a]![b]!;
        if (!isCall) continue;
        total += share;
        if (a === b) together += share;
      }
  };
  const rates = ratesOf(point);
  for (const { caller, callee, perSecond, bytes } of rates)
    add(at.get(caller.name)!, at.get(callee.name)!, perSecond, bytes, true);
  const { users, requestsPerSecondPerUser } = point.load;
  const { usersAt, entry } = point.workflow;
  if (usersAt !== null) {
    // Observed by contenders as in `usersChannel`.
    const calls = rates.reduce((sum, { perSecond }) => sum + perSecond, 0);
    const bytes = rates.reduce((sum, { perSecond, bytes: each }) => sum + perSecond * each, 0);
    const mean = calls === 0 ? 1 : bytes / calls;
    add([nodeIndex(point, usersAt)], at.get(entry)!, users * requestsPerSecondPerUser, mean, false);
  }
  return {
    cost,
    trafficCost,
    colocated: total === 0 ? 1 : together / total,
    busiest: busiest(point, at),
    nodes: new Set([...at.values()].flat()).size,
  };
}

function busiest(point: Point, at: ReadonlyMap<string, readonly number[]>): number {
  const { users, requestsPerSecondPerUser } = point.load;
  const visits = visitsOf(point);
  const busyMs = point.cluster.nodes.map(() => 0);
  for (const { name, cpuMs } of point.workflow.workloads) {
    const nodes = at.get(name)!;
    for (const node of nodes)
      busyMs[node]! += (users * requestsPerSecondPerUser * visits.get(name)! * cpuMs) / nodes.length;
  }
  return Math.max(...busyMs.map((ms, node) => ms / point.cluster.nodes[node]!.cpuMillicores));
}

const SAMPLES = 300;

/** Mean response time on idle machines: network, message overhead and busy work along the slowest branch. */
export function unloadedMs(point: Point, placement: Placement, hopMs: number, random: Random): number {
  const at = positions(point, placement);
  const byName = new Map(point.workflow.workloads.map((workload) => [workload.name, workload]));
  const any = (nodes: readonly number[]): number => nodes[Math.floor(random.next() * nodes.length)]!;
  const answered = (name: string, node: number): number => {
    const { cpuMs, cpuSpread, calls } = byName.get(name)!;
    let slowest = 0;
    for (const { callee, probability } of calls) {
      if (probability < 1 && random.next() >= probability) continue;
      const to = any(at.get(callee)!);
      slowest = Math.max(slowest, point.cluster.rttMs[node]![to]! + 2 * hopMs + answered(callee, to));
    }
    return slowest + (cpuSpread === "fixed" ? cpuMs : -cpuMs * Math.log(1 - random.next()));
  };
  const { usersAt, entry } = point.workflow;
  let sum = 0;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const node = any(at.get(entry)!);
    const arrival = usersAt === null ? 0 : point.cluster.rttMs[nodeIndex(point, usersAt)]![node]!;
    sum += arrival + 2 * hopMs + answered(entry, node);
  }
  return sum / SAMPLES;
}

function positions(point: Point, placement: Placement): ReadonlyMap<string, readonly number[]> {
  return new Map(
    point.workflow.workloads.map(({ name, replicas }) => [
      name,
      Array.from({ length: replicas }, (_, index) => {
        const node = placement.get(`${name}-${index}`);
        if (node === undefined) throw new RangeError(`a placement must have ${name}-${index}, got none`);
        return nodeIndex(point, node);
      }),
    ]),
  );
}

function nodeIndex(point: Point, name: string): number {
  const index = point.cluster.nodes.findIndex((node) => node.name === name);
  if (index < 0) throw new RangeError(`a placement must name nodes of the cluster, got ${name}`);
  return index;
}
