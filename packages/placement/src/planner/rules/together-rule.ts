import type { TogetherConstraint } from "../objective/plan-problem.ts";
import { rolesOf } from "./rule.ts";
import type { Roles, Rule } from "./rule.ts";

/**
 * A domain with a placed or non-subject member (a seed) admits subjects. Without any seed, subjects that are
 * members may found one group, which all others must join.
 */
export class TogetherRule implements Rule {
  readonly name: string;
  readonly #roles: Roles;
  readonly #domainOf: Int32Array;
  readonly #seeds: Int32Array;
  readonly #subjects: Int32Array;
  readonly #founders: Int32Array;
  #allSeeds: number;
  /** Domains with subjects but no seed; of these, the ones without a founder. */
  #unseeded = 0;
  #orphaned = 0;

  constructor(constraint: TogetherConstraint, podCount: number) {
    this.name = constraint.name;
    this.#roles = rolesOf(podCount, constraint);
    this.#domainOf = constraint.domainOf;
    this.#seeds = constraint.placed.slice();
    this.#subjects = new Int32Array(constraint.placed.length);
    this.#founders = new Int32Array(constraint.placed.length);
    this.#allSeeds = constraint.placed.reduce((sum, count) => sum + count, 0);
  }

  add(pod: number, node: number): void {
    this.#change(pod, node, 1);
  }

  remove(pod: number, node: number): void {
    this.#change(pod, node, -1);
  }

  admits(pod: number, node: number, strict: boolean): boolean {
    const domain = this.#domainOf[node]!;
    const subject = this.#roles.subject[pod] === 1;
    if (domain < 0) return !subject && (!strict || this.holds());
    if (!strict && (!subject || this.#seeds[domain]! > 0)) return true;
    this.#change(pod, node, 1);
    const holds = this.holds();
    this.#change(pod, node, -1);
    return holds;
  }

  holds(): boolean {
    if (this.#unseeded === 0) return true;
    return this.#allSeeds === 0 && this.#unseeded === 1 && this.#orphaned === 0;
  }

  #change(pod: number, node: number, by: 1 | -1): void {
    const domain = this.#domainOf[node]!;
    if (domain < 0) return;
    this.#count(domain, -1);
    const member = this.#roles.member[pod] === 1;
    if (this.#roles.subject[pod] === 1) {
      this.#subjects[domain]! += by;
      if (member) this.#founders[domain]! += by;
    } else if (member) {
      this.#seeds[domain]! += by;
      this.#allSeeds += by;
    }
    this.#count(domain, 1);
  }

  #count(domain: number, by: 1 | -1): void {
    if (this.#seeds[domain]! > 0 || this.#subjects[domain] === 0) return;
    this.#unseeded += by;
    if (this.#founders[domain] === 0) this.#orphaned += by;
  }
}
