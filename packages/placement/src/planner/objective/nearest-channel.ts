import type { RoutingScope } from "@isochrone/topology";
import type { CostField } from "./cost-field.ts";
import { nearness } from "./nearness.ts";

interface End {
  readonly planned: readonly number[];
  readonly fixed: readonly number[];
}

interface NearestChannelOptions {
  readonly field: CostField;
  /** Scopes in which a nearer replica is preferred, narrowest first. */
  readonly scopes: readonly RoutingScope[];
  readonly callers: End;
  readonly targets: End;
  /** Bytes per second of each caller. */
  readonly each: number;
  readonly rateError: number;
}

interface Nearest {
  level: number;
  count: number;
  ms: number;
}

/** A cost that depends on several pods' nodes. Bytes per second x milliseconds. */
export interface NearestCost {
  concerns(pod: number): boolean;
  /** Planned pods that exchange traffic with the pod, possibly the pod itself. */
  partners(pod: number): Iterable<{ readonly pod: number; readonly rate: number }>;
  total(assignment: Int32Array): number;
  /** Cost added by `pod` on `node`, regardless of its assignment. */
  added(assignment: Int32Array, pod: number, node: number): number;
  addTo(column: Float64Array, assignment: Int32Array, pod: number): void;
}

/** A caller divides its traffic evenly among the targets in the narrowest scope that has any. */
export class NearestChannel implements NearestCost {
  readonly rateError: number;
  readonly #field: CostField;
  readonly #scopes: readonly RoutingScope[];
  readonly #callers: End;
  readonly #targets: End;
  readonly #each: number;
  readonly #calling: ReadonlySet<number>;
  readonly #called: ReadonlySet<number>;

  constructor({ field, scopes, callers, targets, each, rateError }: NearestChannelOptions) {
    this.rateError = rateError;
    this.#field = field;
    this.#scopes = scopes;
    this.#callers = callers;
    this.#targets = targets;
    this.#each = each;
    this.#calling = new Set(callers.planned);
    this.#called = new Set(targets.planned);
  }

  concerns(pod: number): boolean {
    return this.#calling.has(pod) || this.#called.has(pod);
  }

  *partners(pod: number): Generator<{ readonly pod: number; readonly rate: number }> {
    const targets = this.#targets.planned.length + this.#targets.fixed.length;
    const rate = this.#each / Math.max(1, targets);
    if (this.#calling.has(pod)) for (const target of this.#targets.planned) yield { pod: target, rate };
    if (this.#called.has(pod)) for (const caller of this.#callers.planned) yield { pod: caller, rate };
  }

  total(assignment: Int32Array): number {
    let ms = 0;
    for (const caller of this.#callers.planned) {
      if (assignment[caller]! >= 0) ms += mean(this.#nearest(assignment, assignment[caller]!, caller, -1));
    }
    for (const location of this.#callers.fixed) ms += mean(this.#nearest(assignment, location, -1, -1));
    return ms * this.#each;
  }

  /** Visits each caller's traffic to its nearest targets, bytes per second. */
  eachLink(assignment: Int32Array, visit: (from: number, to: number, rate: number) => void): void {
    this.#eachCaller(assignment, -1, (location, caller) => {
      const { level, count } = this.#nearest(assignment, location, caller, -1);
      this.#eachTarget(assignment, caller, -1, (target) => {
        if (this.#level(location, target) === level) visit(location, target, this.#each / count);
      });
    });
  }

  added(assignment: Int32Array, pod: number, node: number): number {
    let ms = this.#calling.has(pod) ? mean(this.#nearest(assignment, node, pod, pod)) : 0;
    if (this.#called.has(pod)) {
      this.#eachCaller(assignment, pod, (location, caller) => {
        const others = this.#nearest(assignment, location, caller, pod);
        const before = mean(others);
        this.#offer(others, location, node);
        ms += mean(others) - before;
      });
    }
    return ms * this.#each;
  }

  addTo(column: Float64Array, assignment: Int32Array, pod: number): void {
    const { nodeCount } = this.#field;
    if (this.#calling.has(pod)) {
      for (let node = 0; node < nodeCount; node++)
        column[node]! += this.#each * mean(this.#nearest(assignment, node, pod, pod));
    }
    if (!this.#called.has(pod)) return;
    this.#eachCaller(assignment, pod, (location, caller) => {
      const others = this.#nearest(assignment, location, caller, pod);
      const before = mean(others);
      const costs = this.#field.from(location);
      for (let node = 0; node < nodeCount; node++) {
        const level = this.#level(location, node);
        if (level > others.level) continue;
        const after = level < others.level ? costs[node]! : (others.ms + costs[node]!) / (others.count + 1);
        column[node]! += this.#each * (after - before);
      }
    });
  }

  #eachCaller(
    assignment: Int32Array,
    except: number,
    visit: (location: number, caller: number) => void,
  ): void {
    for (const caller of this.#callers.planned) {
      if (caller !== except && assignment[caller]! >= 0) visit(assignment[caller]!, caller);
    }
    for (const location of this.#callers.fixed) visit(location, -1);
  }

  #nearest(assignment: Int32Array, from: number, caller: number, except: number): Nearest {
    const found: Nearest = { level: Infinity, count: 0, ms: 0 };
    this.#eachTarget(assignment, caller, except, (target) => this.#offer(found, from, target));
    return found;
  }

  #eachTarget(
    assignment: Int32Array,
    caller: number,
    except: number,
    visit: (location: number) => void,
  ): void {
    for (const target of this.#targets.planned) {
      if (target !== caller && target !== except && assignment[target]! >= 0) visit(assignment[target]!);
    }
    for (const location of this.#targets.fixed) visit(location);
  }

  #offer(found: Nearest, from: number, target: number): void {
    const level = this.#level(from, target);
    if (level > found.level) return;
    if (level < found.level) {
      found.level = level;
      found.count = 0;
      found.ms = 0;
    }
    found.count++;
    found.ms += this.#field.ms(from, target);
  }

  #level(a: number, b: number): number {
    return nearness(this.#field, this.#scopes, a, b);
  }
}

function mean({ ms, count }: Nearest): number {
  return count === 0 ? 0 : ms / count;
}
