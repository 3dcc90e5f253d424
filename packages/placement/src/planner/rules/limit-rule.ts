import { routingScopes, type Channel, type RoutingScope } from "@isochrone/topology";
import { reachLimit } from "../../scoring/network-limits.ts";
import type { CostField } from "../objective/cost-field.ts";
import { nearness } from "../objective/nearness.ts";
import type { PlanProblem } from "../objective/plan-problem.ts";
import { ReplicaBook } from "../objective/replicas.ts";
import type { Replicas } from "../objective/replicas.ts";
import type { Rule } from "./rule.ts";

/** Whether the pair is within the limit. Null: unknown, no vote. */
type Judge = (from: number, to: number) => boolean | null;

export interface PodsRule {
  readonly rule: Rule;
  readonly pods: ReadonlySet<number>;
}

export function limitRules(problem: PlanProblem, field: CostField): PodsRule[] {
  const replicas = new ReplicaBook(problem, field);
  return problem.workflow.channels.flatMap((channel) => {
    const ends = { callers: replicas.of(channel.source), targets: replicas.of(channel.target) };
    const pods = new Set([...ends.callers.planned, ...ends.targets.planned]);
    if (pods.size === 0) return [];
    return judgesOf(problem, field, channel).map(([name, judge]) => {
      const title = `${name} of channel ${channel.source} -> ${channel.target}`;
      return { rule: new LimitRule(title, { field, ...ends, judge, scopes: routingScopes(channel) }), pods };
    });
  });
}

function judgesOf({ cluster }: PlanProblem, field: CostField, channel: Channel): [string, Judge][] {
  const { minBandwidthBitsPerSecond: need } = channel;
  const limitMs = reachLimit(channel);
  const judges: [string, Judge][] = [];
  if (limitMs !== null) {
    judges.push([
      "maxNetworkCost",
      (from, to) => {
        const [a, b] = [field.id(from), field.id(to)];
        if (a < 0 || b < 0) return null;
        const there = cluster.costMsById(a, b);
        const ms = Number.isNaN(there) ? cluster.costMsById(b, a) : there;
        return Number.isNaN(ms) ? null : ms <= limitMs;
      },
    ]);
  }
  if (need !== null && need > 0) {
    judges.push([
      "minBandwidth",
      (from, to) => {
        const [a, b] = [field.id(from), field.id(to)];
        const bandwidth = a < 0 || b < 0 ? null : cluster.bandwidthById(a, b);
        const free = bandwidth?.available ?? bandwidth?.capacity ?? null;
        return free === null ? null : free >= need;
      },
    ]);
  }
  return judges;
}

interface LimitOptions {
  readonly field: CostField;
  readonly callers: Replicas;
  readonly targets: Replicas;
  readonly judge: Judge;
  readonly scopes: readonly RoutingScope[] | null;
}

/**
 * Broken if more placed peers are beyond the limit than within: one far replica has no veto. Judges node
 * pairs; doesn't add up the bandwidth of several channels.
 */
class LimitRule implements Rule {
  readonly name: string;
  readonly #options: LimitOptions;
  readonly #calling: ReadonlySet<number>;
  readonly #called: ReadonlySet<number>;
  readonly #nodes = new Map<number, number>();

  constructor(name: string, options: LimitOptions) {
    this.name = name;
    this.#options = options;
    this.#calling = new Set(options.callers.planned);
    this.#called = new Set(options.targets.planned);
  }

  add(pod: number, node: number): void {
    this.#nodes.set(pod, node);
  }

  remove(pod: number): void {
    this.#nodes.delete(pod);
  }

  admits(pod: number, node: number, strict: boolean): boolean {
    this.#nodes.set(pod, node);
    const admits = strict ? this.holds() : this.#isWithin(pod, node);
    this.#nodes.delete(pod);
    return admits;
  }

  holds(): boolean {
    for (const [pod, node] of this.#nodes) if (!this.#isWithin(pod, node)) return false;
    return true;
  }

  #isWithin(pod: number, node: number): boolean {
    const { judge } = this.#options;
    const out = this.#calling.has(pod) ? this.#targetsOf(node, pod) : [];
    const into = this.#called.has(pod) ? this.#callersOf(node, pod) : [];
    return (
      balance(out, (other) => (other === node ? true : judge(node, other))) >= 0 &&
      balance(into, (other) => (other === node ? true : judge(other, node))) >= 0
    );
  }

  #targetsOf(from: number, caller: number): number[] {
    const { targets, scopes } = this.#options;
    const all = [...this.#locations(targets.planned, caller), ...targets.fixed];
    if (scopes === null || all.length === 0) return all;
    const levels = all.map((target) => nearness(this.#options.field, scopes, from, target));
    const least = Math.min(...levels);
    return all.filter((_, at) => levels[at] === least);
  }

  #callersOf(node: number, target: number): number[] {
    const { callers, scopes } = this.#options;
    const planned = callers.planned.filter((pod) => pod !== target && this.#nodes.has(pod));
    const all = [
      ...planned.map((pod) => [this.#nodes.get(pod)!, pod] as const),
      ...callers.fixed.map((at) => [at, -1] as const),
    ];
    return all
      .filter(([from, pod]) => scopes === null || this.#targetsOf(from, pod).includes(node))
      .map(([from]) => from);
  }

  #locations(pods: readonly number[], except: number): number[] {
    return pods.filter((pod) => pod !== except && this.#nodes.has(pod)).map((pod) => this.#nodes.get(pod)!);
  }
}

function balance(locations: readonly number[], judge: (location: number) => boolean | null): number {
  let sum = 0;
  for (const location of locations) {
    const vote = judge(location);
    if (vote !== null) sum += vote ? 1 : -1;
  }
  return sum;
}
