// Depth-first branch and bound, started from the best of many descents by moves and swaps.
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import { placementCost } from "./problem.ts";
import type { PlacementExperiment } from "./problem.ts";

interface Optimum {
  readonly cost: number;
  readonly nodeOf: readonly number[];
  readonly steps: number;
}

const DESCENTS = 200;

/** Throws if the proof needs more than `maxSteps` partial placements. */
export function optimum(experiment: PlacementExperiment, maxSteps = 400_000_000): Optimum {
  const start = bestDescent(experiment);
  return new Search(experiment, start, maxSteps).run();
}

class Search {
  readonly #count: number;
  readonly #nodes: number;
  readonly #order: readonly number[];
  /** Traffic with each other pod, by position in the order. */
  readonly #traffic: Float64Array[];
  readonly #cost: readonly (readonly number[])[];
  readonly #free: Int32Array;
  /** Cost of the pod's traffic with placed pods, by depth, pod and candidate node. */
  readonly #pull: Float64Array[];
  readonly #at: Int32Array;
  readonly #pinned: readonly (number | null)[];
  readonly #maxSteps: number;
  #best: number;
  #bestAt: Int32Array;
  #steps = 0;

  constructor(
    experiment: PlacementExperiment,
    start: { cost: number; nodeOf: readonly number[] },
    maxSteps: number,
  ) {
    const { workloads, nodes, costMs, capacity } = experiment;
    this.#count = workloads.length;
    this.#nodes = nodes.length;
    this.#cost = costMs;
    this.#maxSteps = maxSteps;
    const between = trafficMatrix(experiment);
    this.#order = connectedOrder(between, experiment.pinned);
    this.#pinned = this.#order.map((pod) => experiment.pinned[pod]!);
    this.#traffic = this.#order.map((pod) =>
      Float64Array.from(this.#order, (other) => between[pod]![other]!),
    );
    this.#free = new Int32Array(nodes.length).fill(capacity);
    this.#pull = Array.from({ length: this.#count + 1 }, () => new Float64Array(this.#count * nodes.length));
    this.#at = new Int32Array(this.#count);
    this.#best = start.cost;
    this.#bestAt = Int32Array.from(this.#order, (pod) => start.nodeOf[pod]!);
  }

  run(): Optimum {
    this.#descend(0, 0);
    const nodeOf = Array.from({ length: this.#count }, () => 0);
    for (const [place, pod] of this.#order.entries()) nodeOf[pod] = this.#bestAt[place]!;
    return { cost: this.#best, nodeOf, steps: this.#steps };
  }

  #descend(depth: number, cost: number): void {
    if (++this.#steps > this.#maxSteps) throw new Error(`no proof within ${this.#maxSteps} steps`);
    if (depth === this.#count) {
      this.#best = cost;
      this.#bestAt = this.#at.slice();
      return;
    }
    const pull = this.#pull[depth]!;
    const base = depth * this.#nodes;
    const choices: number[] = [];
    const pin = this.#pinned[depth]!;
    for (let node = 0; node < this.#nodes; node++)
      if (this.#free[node]! > 0 && (pin === null || pin === node)) choices.push(node);
    choices.sort((a, b) => pull[base + a]! - pull[base + b]!);
    for (const node of choices) {
      const next = cost + pull[base + node]!;
      if (next >= this.#best) break;
      this.#free[node]!--;
      this.#at[depth] = node;
      if (next + this.#place(depth, node) < this.#best) this.#descend(depth + 1, next);
      this.#free[node]!++;
    }
  }

  /** Returns a lower bound of the remaining pods' cost with the placed ones. */
  #place(depth: number, node: number): number {
    const from = this.#pull[depth]!;
    const to = this.#pull[depth + 1]!;
    const traffic = this.#traffic[depth]!;
    const cost = this.#cost[node]!;
    let bound = 0;
    for (let pod = depth + 1; pod < this.#count; pod++) {
      const rate = traffic[pod]!;
      let least = Infinity;
      for (let other = 0; other < this.#nodes; other++) {
        const at = pod * this.#nodes + other;
        const value = from[at]! + rate * cost[other]!;
        to[at] = value;
        if (value < least && this.#free[other]! > 0) least = value;
      }
      bound += least;
    }
    return bound;
  }
}

/** Pinned pods first, then always the pod with most traffic to earlier ones, so that bounds prune early. */
function connectedOrder(
  between: readonly (readonly number[])[],
  pinned: readonly (number | null)[],
): number[] {
  const order = pinned.flatMap((pin, pod) => (pin === null ? [] : [pod]));
  const tied = between.map((row) => order.reduce((sum, pod) => sum + row[pod]!, 0));
  while (order.length < between.length) {
    let next = -1;
    for (let pod = 0; pod < between.length; pod++)
      if (!order.includes(pod) && (next < 0 || tied[pod]! > tied[next]!)) next = pod;
    order.push(next);
    for (let pod = 0; pod < between.length; pod++) tied[pod]! += between[next]![pod]!;
  }
  return order;
}

function trafficMatrix({ workloads, channels }: PlacementExperiment): number[][] {
  const between = workloads.map(() => workloads.map(() => 0));
  for (const { source, target, bytesPerSecond } of channels) {
    between[source]![target]! += bytesPerSecond;
    between[target]![source]! += bytesPerSecond;
  }
  return between;
}

function bestDescent(experiment: PlacementExperiment): { cost: number; nodeOf: number[] } {
  const random = seededRandom(experiment.seed + 1);
  let best: { cost: number; nodeOf: number[] } | null = null;
  for (let round = 0; round < DESCENTS; round++) {
    const found = descent(experiment, random);
    if (best === null || found.cost < best.cost) best = found;
  }
  return best!;
}

function descent(experiment: PlacementExperiment, random: Random): { cost: number; nodeOf: number[] } {
  const { workloads, nodes, capacity, pinned } = experiment;
  const slots = nodes.flatMap((_, node) => Array.from({ length: capacity }, () => node));
  for (let i = slots.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [slots[i], slots[j]] = [slots[j]!, slots[i]!];
  }
  for (const pin of pinned) if (pin !== null) slots.splice(slots.indexOf(pin), 1);
  const nodeOf = workloads.map((_, pod) => pinned[pod] ?? slots.pop()!);
  const empty = slots;
  let cost = placementCost(experiment, nodeOf);
  for (let improved = true; improved;) {
    improved = false;
    const attempt = (swap: () => void): void => {
      swap();
      const next = placementCost(experiment, nodeOf);
      if (next < cost - 1e-9) {
        cost = next;
        improved = true;
      } else swap();
    };
    for (let a = 0; a < nodeOf.length; a++) {
      if (pinned[a] !== null) continue;
      for (let b = a + 1; b < nodeOf.length; b++)
        if (pinned[b] === null && nodeOf[a] !== nodeOf[b])
          attempt(() => ([nodeOf[a], nodeOf[b]] = [nodeOf[b]!, nodeOf[a]!]));
      for (let slot = 0; slot < empty.length; slot++)
        if (nodeOf[a] !== empty[slot]) attempt(() => ([nodeOf[a], empty[slot]] = [empty[slot]!, nodeOf[a]!]));
    }
  }
  return { cost, nodeOf };
}
