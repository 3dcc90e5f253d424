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
 * What an assignment costs; bytes per second x milliseconds, 0 or more, finite. Where money has a share, a
 * typical price counts as a median round trip.
 */
export interface PlanCost {
  /**
   * Sum over the channels of the planned pods of traffic x network cost. Pods without a node count for
   * nothing.
   */
  readonly network: number;
  /**
   * What the load of the nodes adds, and of zones whose replicas are asked too much, in the same unit, and
   * moves where they cost something: see `pressureShare`, `maxCpuUse` and `moveCost`.
   */
  readonly pressure: number;
  readonly total: number;
}

/**
 * Judges assignments: node index by pod, -1 = not placed. It knows costs only; whether pods may go there is
 * not its concern.
 */
export interface Objective {
  readonly total: (assignment: Int32Array) => PlanCost;
  /** What `total` grows by when the pod goes to that node (-1: nowhere). */
  readonly moveDelta: (assignment: Int32Array, pod: number, node: number) => number;
  /** What `total` grows by when the two pods change places. */
  readonly swapDelta: (assignment: Int32Array, podA: number, podB: number) => number;
}

/** Who talks to whom, and what that costs between nodes. */
interface NetworkCosts {
  readonly field: CostField;
  readonly traffic: Traffic;
}

/** What the planner's parts share: costs, traffic, and what nodes have room for. */
export interface CostModel {
  readonly settings: PlanSettings;
  readonly problem: PlanProblem;
  readonly field: CostField;
  readonly traffic: Traffic;
  /** The same by latency alone; null where that is what decides. */
  readonly latency: NetworkCosts | null;
  /** What the network may cost by latency alone, bytes/s x ms; it is no part of costs. */
  readonly latencyLimit: number;
  /** Why latency alone decides although money was asked for; null: as asked. */
  readonly fallback: MoneyFallback | null;
  /** Of the nodes without any planned pod. */
  readonly capacity: Capacity;
  /** What all planned traffic would cost at the median known network cost; 1 where there is neither. */
  readonly whole: number;
}

/** Throws PlacementError `invalid_setting`. */
export function createObjective(problem: PlanProblem, settings: Partial<PlanSettings> = {}): Objective {
  return objectiveOf(costModel(problem, planSettings(settings)));
}

/** Of workloads whose callers go to the nearest: those of whose replicas zones ask too much. */
export function zoneLacks(
  problem: PlanProblem,
  assignment: Int32Array,
  settings: Partial<PlanSettings> = {},
): ZoneLack[] {
  return costModel(problem, planSettings(settings))
    .traffic.starving.map((zones) => zones.lack(assignment))
    .filter(({ before, after }) => Math.max(before, after) >= 1);
}

/** The last one of each problem: a plan is searched, and then held against others. */
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
  // Without traffic or costs nothing but the load is left to decide.
  const whole = atMedian > 0 ? atMedian : 1;
  const overload = Overload.of(problem, OVERLOAD_SHARE * whole, settings.maxCpuUse);
  const prices = { scale: settings.pressureShare * whole, moveCost: settings.moveCost };
  const capacity = new Capacity(problem, prices, overload);
  return { settings, problem, ...network, latencyLimit: Infinity, capacity, whole };
}

/** Of the same problem with fewer nodes: costs are the same. */
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
 * With the bound on latency. Of today's latency no more is lost, of the least that was found only the given
 * share.
 * @param byLatency the plan by latency alone
 */
export function boundedModel(model: CostModel, byLatency: Int32Array, maxLatencyLoss: number): CostModel {
  const current = Int32Array.from(model.problem.pods, (pod) => pod.current);
  const today = current.includes(-1) ? 0 : latencyOf(model, current);
  return { ...model, latencyLimit: Math.max((1 + maxLatencyLoss) * latencyOf(model, byLatency), today) };
}

/** What the network of an assignment costs by latency alone, bytes/s x ms. */
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
 * With all its fixed peers, and either with all planned ones or, to count each pair once, with those that it
 * calls.
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

/** The cost of what differs between two assignments, each pair once. */
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
