import { Capacity } from "./capacity.ts";
import { CostField } from "./cost-field.ts";
import { moneyField, type MoneyFallback } from "./money.ts";
import { Overload } from "./overload.ts";
import type { PlanProblem } from "./plan-problem.ts";
import { OVERLOAD_SHARE, planSettings } from "./plan-settings.ts";
import type { PlanSettings } from "./plan-settings.ts";
import type { ZoneLack } from "./starving-zones.ts";
import { trafficOf } from "./traffic.ts";
import type { Traffic } from "./traffic.ts";

/**
 * Bytes per second x milliseconds, non-negative and finite. With a money share, a typical price counts as a
 * median round trip.
 */
export interface PlanCost {
  /** Traffic x network cost. Pods without a node are free. */
  readonly network: number;
  /** Cost of load, starving zones and moves: see `pressureShare`, `maxCpuUse` and `moveCost`. */
  readonly pressure: number;
  readonly total: number;
}

/** Evaluates assignments: node index by pod, -1: unplaced. Ignores feasibility. */
export interface Objective {
  readonly total: (assignment: Int32Array) => PlanCost;
  /** Change of `total` if the pod moves to the node (-1: none). */
  readonly moveDelta: (assignment: Int32Array, pod: number, node: number) => number;
  readonly swapDelta: (assignment: Int32Array, podA: number, podB: number) => number;
}

interface NetworkCosts {
  readonly field: CostField;
  readonly traffic: Traffic;
}

export interface CostModel {
  readonly settings: PlanSettings;
  readonly problem: PlanProblem;
  readonly field: CostField;
  readonly traffic: Traffic;
  /** Costs by latency alone. Null: latency decides anyway. */
  readonly latency: NetworkCosts | null;
  readonly latencyLimit: number;
  /** Why latency alone decides despite a money share. Null: it doesn't. */
  readonly fallback: MoneyFallback | null;
  readonly capacity: Capacity;
  /** Cost of all planned traffic at the median latency; 1 if unknown. */
  readonly whole: number;
}

export function createObjective(problem: PlanProblem, settings: Partial<PlanSettings> = {}): Objective {
  return objectiveOf(costModel(problem, planSettings(settings)));
}

export function zoneLacks(
  problem: PlanProblem,
  assignment: Int32Array,
  settings: Partial<PlanSettings> = {},
): ZoneLack[] {
  return costModel(problem, planSettings(settings))
    .traffic.starving.map((zones) => zones.lack(assignment))
    .filter(({ before, after }) => Math.max(before, after) >= 1);
}

const models = new WeakMap<PlanProblem, CostModel>();

export function costModel(problem: PlanProblem, settings: PlanSettings): CostModel {
  const known = models.get(problem);
  if (known !== undefined && areEqual(known.settings, settings)) return known;
  const made = newModel(problem, settings);
  models.set(problem, made);
  return made;
}

function areEqual(a: PlanSettings, b: PlanSettings): boolean {
  return (
    a.bytesPerRequest === b.bytesPerRequest &&
    a.pressureShare === b.pressureShare &&
    a.maxCpuUse === b.maxCpuUse &&
    a.moveCost === b.moveCost &&
    a.moneyShare === b.moneyShare
  );
}

function newModel(problem: PlanProblem, settings: PlanSettings): CostModel {
  const network = networkOf(problem, settings);
  const { traffic, field } = network;
  const atMedian = traffic.bytesPerSecond * field.medianMs;
  // Without traffic or costs, only load decides.
  const whole = atMedian > 0 ? atMedian : 1;
  const overload = Overload.of(problem, OVERLOAD_SHARE * whole, settings.maxCpuUse);
  const prices = { scale: settings.pressureShare * whole, moveCost: settings.moveCost };
  const capacity = new Capacity(problem, prices, overload);
  return { settings, problem, ...network, latencyLimit: Infinity, capacity, whole };
}

/** Returns the model of the same problem with fewer nodes. Costs stay equal. */
export function restrictedModel(model: CostModel, problem: PlanProblem): CostModel {
  const overload = Overload.of(problem, OVERLOAD_SHARE * model.whole, model.settings.maxCpuUse);
  const prices = { scale: model.capacity.scale, moveCost: model.settings.moveCost };
  const capacity = new Capacity(problem, prices, overload);
  return { ...model, problem, ...networkOf(problem, model.settings), capacity };
}

function networkOf(
  problem: PlanProblem,
  settings: PlanSettings,
): Pick<CostModel, "fallback" | "field" | "latency" | "traffic"> {
  const field = new CostField(problem);
  const traffic = trafficOf(problem, field, settings);
  const byLatency = { field, traffic };
  if (settings.moneyShare === 0) return { ...byLatency, latency: null, fallback: null };
  const priced = moneyField(problem, field, settings.moneyShare);
  if (typeof priced === "string") return { ...byLatency, latency: null, fallback: priced };
  const byMoney = { field: priced, traffic: trafficOf(problem, priced, settings) };
  return { ...byMoney, latency: byLatency, fallback: null };
}

/**
 * Adds the latency bound: the given loss over the best latency, or today's latency if that is worse.
 * @param byLatency the plan by latency alone
 */
export function boundedModel(model: CostModel, byLatency: Int32Array, maxLatencyLoss: number): CostModel {
  const current = Int32Array.from(model.problem.pods, (pod) => pod.current);
  const today = current.includes(-1) ? 0 : latencyOf(model, current);
  return { ...model, latencyLimit: Math.max((1 + maxLatencyLoss) * latencyOf(model, byLatency), today) };
}

function latencyOf(model: CostModel, assignment: Int32Array): number {
  return networkCost(model.latency ?? model, assignment);
}

export function objectiveOf(model: CostModel): Objective {
  const total = (assignment: Int32Array): PlanCost => {
    const network = networkCost(model, assignment);
    const pressure = pressureCost(model, assignment) + starvingCost(model, assignment);
    return { network, pressure, total: network + pressure };
  };
  const delta = (assignment: Int32Array, changed: Int32Array): number =>
    partialCost(model, changed, assignment) - partialCost(model, assignment, changed);
  return {
    total,
    moveDelta: (assignment, pod, node) => delta(assignment, assignment.with(pod, node)),
    swapDelta: (assignment, a, b) =>
      delta(assignment, assignment.with(a, assignment[b]!).with(b, assignment[a]!)),
  };
}

export function networkCost({ traffic, field }: NetworkCosts, assignment: Int32Array): number {
  let sum = 0;
  for (const pod of assignment.keys()) sum += podCost(traffic, field, assignment, pod, true);
  for (const channel of traffic.nearest) sum += channel.total(assignment);
  return sum;
}

/**
 * Traffic cost of a pod. Includes fixed peers, and planned peers: all, or only those it calls, to count each
 * pair once.
 */
function podCost(
  { groups, groupOf }: Traffic,
  field: CostField,
  assignment: Int32Array,
  pod: number,
  callingOnly: boolean,
): number {
  const node = assignment[pod]!;
  const group = groups[groupOf[pod]!];
  if (node < 0 || group === undefined) return 0;
  let sum = 0;
  for (const { location, calling, called } of group.fixed)
    sum += calling * field.ms(node, location) + called * field.ms(location, node);
  for (const link of group.links) {
    for (const peer of groups[link.group]!.pods) {
      const there = assignment[peer]!;
      if (peer === pod || there < 0) continue;
      sum += link.calling * field.ms(node, there);
      if (!callingOnly) sum += link.called * field.ms(there, node);
    }
  }
  return sum;
}

function pressureCost({ capacity }: CostModel, assignment: Int32Array): number {
  let sum = 0;
  for (const [pod, node] of assignment.entries()) {
    if (node < 0) continue;
    sum += capacity.pressureOf(pod, node);
    capacity.add(pod, node);
  }
  for (const [pod, node] of assignment.entries()) if (node >= 0) capacity.remove(pod, node);
  return sum;
}

function starvingCost({ traffic }: CostModel, assignment: Int32Array): number {
  return traffic.starving.reduce((sum, zones) => sum + zones.total(assignment), 0);
}

/** Cost of the pods that differ between two assignments, each pair once. */
function partialCost(model: CostModel, assignment: Int32Array, other: Int32Array): number {
  const { traffic, field } = model;
  const differ = [...assignment.keys()].filter((pod) => assignment[pod] !== other[pod]);
  let sum = pressureCost(model, assignment);
  const open = assignment.slice();
  for (const pod of differ) {
    sum += podCost(traffic, field, open, pod, false);
    open[pod] = -1;
  }
  const channels = new Set(differ.flatMap((pod) => traffic.nearestOf[pod]!));
  for (const channel of channels) sum += channel.total(assignment);
  return sum;
}
