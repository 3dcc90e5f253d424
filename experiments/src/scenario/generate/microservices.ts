// Generates workflows with the shape of production call graphs, as published for Alibaba.
// Luo 2021: call graphs resemble trees, sizes are heavy-tailed, about 5 % of the services are hot spots with
// many callers.
// Winchester 2025, table 1: 39 % of the services call none, 48 % are called and call.
// Figures that the papers don't state are arguments or constants below; the report lists them as threats.
import type { Random } from "@isochrone/runtime";
import type { PointCall, PointWorkflow, PointWorkload } from "../model.ts";

interface WorkflowStatistics {
  readonly services: number;
  /** Mean busy work per call. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** Share of calls that only some requests make: graphs vary by request (Luo 2021). */
  readonly conditionalShare: number;
  readonly requests: PointWorkload["requests"];
}

/** Share of leaves among called services (Winchester 2025). */
const LEAF_SHARE = 0.39 / (0.39 + 0.48);
/** Share of all services (Luo 2021). */
const HOT_SPOT_SHARE = 0.05;
/** Callers of a hot spot besides its parent, as a share of the possible ones. */
const HOT_SPOT_CALLERS = 0.3;
/** Heavy tail, truncated by MOST_TIMES_LEAST: samples can't show an infinite variance. */
const PARETO_SHAPE = 1.5;
const MOST_TIMES_LEAST = 64;
const LEAST_REQUEST_BYTES = 200;
const LEAST_RESPONSE_BYTES = 1000;
const PROBABILITIES = [0.1, 0.9] as const;

/** Users call `s0`; names follow a walk from callers to callees. */
export function generateWorkflow(statistics: WorkflowStatistics, random: Random): PointWorkflow {
  const { services } = statistics;
  const callers = Math.max(1, services - Math.round((services - 1) * LEAF_SHARE));
  const callees: number[][] = Array.from({ length: services }, () => []);
  growTree(callees, callers, random);
  addHotSpots(callees, callers, random);
  return {
    name: "generated",
    entry: "s0",
    usersAt: null,
    workloads: callees.map((called, index) => workload(index, called, statistics, random)),
  };
}

/** Attaches each service to an earlier one below `callers`; busier ones get more: a heavy-tailed fan-out. */
function growTree(callees: number[][], callers: number, random: Random): void {
  // Each caller needs a callee, else it is a leaf. The first callee is the next caller, or a leaf if none is
  // left.
  for (let service = 1; service < callees.length; service += 1) {
    const candidates = callees.slice(0, Math.min(service, callers));
    const barren = candidates.findIndex((called) => called.length === 0);
    const left = callees.length - service;
    const needed =
      callers - Math.min(service, callers) + candidates.filter((called) => called.length === 0).length;
    const parent =
      barren >= 0 && left <= needed
        ? barren
        : weighted(
            candidates.map((called) => called.length + 1),
            random,
          );
    callees[parent]!.push(service);
  }
}

function addHotSpots(callees: number[][], callers: number, random: Random): void {
  const leaves = callees.length - callers;
  const hotSpots = Math.min(leaves, Math.max(1, Math.round(callees.length * HOT_SPOT_SHARE)));
  for (let at = 0; at < hotSpots; at += 1) {
    const hotSpot = callers + at;
    for (let caller = 0; caller < callers; caller += 1)
      if (!callees[caller]!.includes(hotSpot) && random.next() < HOT_SPOT_CALLERS)
        callees[caller]!.push(hotSpot);
  }
}

function weighted(weights: readonly number[], random: Random): number {
  let left = random.next() * weights.reduce((sum, weight) => sum + weight, 0);
  const found = weights.findIndex((weight) => (left -= weight) < 0);
  return found < 0 ? weights.length - 1 : found;
}

function workload(
  index: number,
  called: readonly number[],
  statistics: WorkflowStatistics,
  random: Random,
): PointWorkload {
  return {
    name: `s${index}`,
    replicas: 1,
    requests: statistics.requests,
    memoryBytes: statistics.memoryBytes,
    // The mean of a Pareto variable of this shape is 3 times its minimum.
    cpuMs: round((statistics.cpuMs / 3) * pareto(random)),
    cpuSpread: "exponential",
    calls: called.map((callee) => call(callee, statistics, random)),
    pinnedTo: null,
  };
}

function call(callee: number, { conditionalShare }: WorkflowStatistics, random: Random): PointCall {
  const isConditional = random.next() < conditionalShare;
  const [low, high] = PROBABILITIES;
  const drawn = low + (high - low) * random.next();
  return {
    callee: `s${callee}`,
    requestBytes: Math.round(LEAST_REQUEST_BYTES * pareto(random)),
    responseBytes: Math.round(LEAST_RESPONSE_BYTES * pareto(random)),
    probability: isConditional ? round(drawn) : 1,
  };
}

/** Returns at least 1. */
function pareto(random: Random): number {
  return Math.min(MOST_TIMES_LEAST, (1 - random.next()) ** (-1 / PARETO_SHAPE));
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
