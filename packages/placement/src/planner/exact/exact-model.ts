import { addRule } from "./exact-rules.ts";
import { LinearProgram } from "@isochrone/primitives/algorithms";
import type { CostModel } from "../objective/objective.ts";

/** Initial tangents per price curve, at distinct loads. */
const FIRST_TANGENTS = 6;

interface Tangent {
  readonly node: number;
  readonly resource: number;
  readonly load: number;
}

/**
 * x<pod>_<node>: the pod is there. y<a>_<b>_<n>_<m>: a is on n and b on m (tight, Adams 1994).
 * t<node>_<resource>: cost of load, above every tangent of its curve (Duran 1986). o<node>: overload, as a
 * share of all planned use.
 */
export class ExactModel {
  /** Cost per unit of the objective, so that coefficients are near 1. */
  readonly unit: number;
  readonly #costs: CostModel;
  readonly #tangents: Tangent[] = [];

  constructor(costs: CostModel) {
    this.#costs = costs;
    const { traffic, field } = costs;
    this.unit = Math.max(1e-9, traffic.bytesPerSecond * field.medianMs, costs.capacity.scale);
    this.#startTangents();
  }

  program(): string {
    const program = new LinearProgram();
    this.#addPods(program);
    this.#addPairs(program);
    this.#addLoads(program);
    this.#addOverload(program);
    this.#addLatencyLimit(program);
    for (const [index, rule] of this.#costs.problem.constraints.entries())
      addRule(program, rule, (pod, domain) => this.#inDomain(rule.domainOf, pod, domain), `c${index}_`);
    return program.text();
  }

  assignmentOf(values: ReadonlyMap<string, number>): Int32Array {
    const { pods, nodes } = this.#costs.problem;
    return Int32Array.from(pods.keys(), (pod) =>
      [...nodes.keys()].findIndex((node) => (values.get(x(pod, node)) ?? 0) > 0.5),
    );
  }

  /** Adds tangents at the loads of the assignment, which makes its cost exact. */
  addTangents(assignment: Int32Array): void {
    const { problem, capacity } = this.#costs;
    for (const resource of capacity.pressed) {
      for (const node of problem.nodes.keys()) {
        const added = problem.pods.reduce(
          (sum, { demand }, pod) => sum + (assignment[pod] === node ? demand[resource]! : 0),
          0,
        );
        if (added > 0)
          this.#tangents.push({ node, resource, load: capacity.curve(node, resource).load + added });
      }
    }
  }

  #startTangents(): void {
    const { problem, capacity } = this.#costs;
    for (const resource of capacity.pressed) {
      const all = problem.pods.reduce((sum, { demand }) => sum + demand[resource]!, 0);
      for (const node of problem.nodes.keys()) {
        const { load } = capacity.curve(node, resource);
        const room = Math.max(0, Math.min(all, capacity.left(node, resource)));
        for (let step = 0; step <= FIRST_TANGENTS; step++)
          this.#tangents.push({ node, resource, load: load + (room * step) / FIRST_TANGENTS });
      }
    }
  }

  #mayBeOn(pod: number, node: number): boolean {
    const { problem, capacity } = this.#costs;
    if (problem.pods[pod]!.allowed?.[node] === 0 || !capacity.fits(pod, node)) return false;
    return problem.constraints.every((rule) => rule.domainOf[node]! >= 0 || !rule.subjects.includes(pod));
  }

  #spots(pod: number): number[] {
    return [...this.#costs.problem.nodes.keys()].filter((node) => this.#mayBeOn(pod, node));
  }

  #addPods(program: LinearProgram): void {
    const { problem, field, traffic, capacity } = this.#costs;
    for (const pod of problem.pods.keys()) {
      const spots = this.#spots(pod);
      const fixed = traffic.groups[traffic.groupOf[pod]!]?.fixed ?? [];
      for (const node of spots) {
        program.binary(x(pod, node));
        let cost = capacity.moveOf(pod, node);
        for (const { location, calling, called } of fixed)
          cost += calling * field.ms(node, location) + called * field.ms(location, node);
        program.cost(cost / this.unit, x(pod, node));
      }
      program.row(
        spots.map((node) => [1, x(pod, node)]),
        "=",
        1,
      );
    }
    for (const [resource] of problem.resources.entries()) {
      for (const node of problem.nodes.keys()) {
        const users = [...problem.pods.keys()].filter(
          (pod) => problem.pods[pod]!.demand[resource]! > 0 && this.#mayBeOn(pod, node),
        );
        const most = capacity.left(node, resource);
        // As shares of the free amount: bytes of memory would swamp the solver's tolerances.
        if (users.length > 1)
          program.row(
            users.map((pod) => [problem.pods[pod]!.demand[resource]! / most, x(pod, node)]),
            "<=",
            1,
          );
      }
    }
  }

  #addPairs(program: LinearProgram): void {
    const { problem, field } = this.#costs;
    for (const a of problem.pods.keys()) {
      for (let b = a + 1; b < problem.pods.length; b++) {
        const { calling, called } = this.#rates(a, b);
        if (calling + called === 0) continue;
        const [spotsA, spotsB] = [this.#spots(a), this.#spots(b)];
        const y = (n: number, m: number): string => pairName(a, b, n, m);
        for (const n of spotsA) {
          for (const m of spotsB)
            program.cost((calling * field.ms(n, m) + called * field.ms(m, n)) / this.unit, y(n, m));
          program.row([...spotsB.map((m) => [1, y(n, m)] as const), [-1, x(a, n)]], "=", 0);
        }
        for (const m of spotsB)
          program.row([...spotsA.map((n) => [1, y(n, m)] as const), [-1, x(b, m)]], "=", 0);
      }
    }
  }

  #addLatencyLimit(program: LinearProgram): void {
    const { problem, latency, latencyLimit } = this.#costs;
    if (latency === null || latencyLimit === Infinity) return;
    const { field, traffic } = latency;
    const terms: (readonly [number, string])[] = [];
    const add = (cost: number, variable: string): void => {
      if (cost > 0) terms.push([latencyLimit > 0 ? cost / latencyLimit : 1, variable]);
    };
    for (const a of problem.pods.keys()) {
      const fixed = traffic.groups[traffic.groupOf[a]!]?.fixed ?? [];
      for (const n of this.#spots(a)) {
        let cost = 0;
        for (const { location, calling, called } of fixed)
          cost += calling * field.ms(n, location) + called * field.ms(location, n);
        add(cost, x(a, n));
      }
      for (let b = a + 1; b < problem.pods.length; b++) {
        const { calling, called } = this.#rates(a, b);
        for (const n of this.#spots(a))
          for (const m of this.#spots(b))
            add(calling * field.ms(n, m) + called * field.ms(m, n), pairName(a, b, n, m));
      }
    }
    if (terms.length > 0) program.row(terms, "<=", latencyLimit > 0 ? 1 : 0);
  }

  #rates(a: number, b: number): { readonly calling: number; readonly called: number } {
    const { groups, groupOf } = this.#costs.traffic;
    const link = groups[groupOf[a]!]?.links.find(({ group }) => group === groupOf[b]);
    return link ?? { calling: 0, called: 0 };
  }

  #addLoads(program: LinearProgram): void {
    const { problem, capacity } = this.#costs;
    const seen = new Set<string>();
    for (const { node, resource, load } of this.#tangents) {
      const { price, load: start } = capacity.curve(node, resource);
      const t = `t${node}_${resource}`;
      if (price === 0) continue;
      if (!seen.has(t)) program.cost(1, t);
      seen.add(t);
      // t >= value + slope x (added - (load - start)), relative to the node's current cost.
      const slope = (3 * price * load * load) / this.unit;
      const value = (price * (load ** 3 - start ** 3)) / this.unit;
      const users = [...problem.pods.keys()].filter((pod) => this.#mayBeOn(pod, node));
      const terms = users.map(
        (pod) => [-slope * problem.pods[pod]!.demand[resource]!, x(pod, node)] as const,
      );
      program.row([[1, t], ...terms], ">=", value - slope * (load - start));
    }
  }

  #addOverload(program: LinearProgram): void {
    const { problem, capacity } = this.#costs;
    const { overload } = capacity;
    if (overload.price === 0) return;
    const all = problem.pods.reduce((sum, _, pod) => sum + overload.useOf(pod), 0);
    for (const node of problem.nodes.keys()) {
      const room = overload.room(node);
      const users = [...problem.pods.keys()].filter(
        (pod) => overload.useOf(pod) > 0 && this.#mayBeOn(pod, node),
      );
      if (room === Infinity || users.length === 0) continue;
      program.cost((overload.price * all) / this.unit, `o${node}`);
      program.row(
        [[1, `o${node}`], ...users.map((pod) => [-overload.useOf(pod) / all, x(pod, node)] as const)],
        ">=",
        -Math.max(0, room) / all,
      );
    }
  }

  #inDomain(domainOf: Int32Array, pod: number, domain: number): (readonly [number, string])[] {
    return this.#spots(pod)
      .filter((node) => domainOf[node] === domain)
      .map((node) => [1, x(pod, node)] as const);
  }
}

function x(pod: number, node: number): string {
  return `x${pod}_${node}`;
}

function pairName(a: number, b: number, n: number, m: number): string {
  return `y${a}_${b}_${n}_${m}`;
}
