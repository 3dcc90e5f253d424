import type { SpanConstraint } from "../objective/plan-problem.ts";
import { rolesOf } from "./rule.ts";
import type { Roles, Rule } from "./rule.ts";

/** Counts domains with members. Each unplaced member may still open a new one. */
export class SpanRule implements Rule {
  readonly name: string;
  readonly #roles: Roles;
  readonly #domainOf: Int32Array;
  readonly #minDistinct: number;
  readonly #members: Int32Array;
  #distinct: number;
  #waiting: number;

  constructor(constraint: SpanConstraint, podCount: number) {
    this.name = constraint.name;
    this.#roles = rolesOf(podCount, constraint);
    this.#domainOf = constraint.domainOf;
    this.#minDistinct = constraint.minDistinct;
    this.#members = constraint.placed.slice();
    this.#distinct = 0;
    for (let domain = 0; domain < this.#members.length; domain++)
      if (this.#members[domain]! > 0) this.#distinct++;
    this.#waiting = constraint.members.length;
  }

  add(pod: number, node: number): void {
    if (this.#roles.member[pod] !== 1) return;
    this.#waiting--;
    const domain = this.#domainOf[node]!;
    if (domain >= 0 && this.#members[domain]!++ === 0) this.#distinct++;
  }

  remove(pod: number, node: number): void {
    if (this.#roles.member[pod] !== 1) return;
    this.#waiting++;
    const domain = this.#domainOf[node]!;
    if (domain >= 0 && --this.#members[domain]! === 0) this.#distinct--;
  }

  admits(pod: number, node: number): boolean {
    const domain = this.#domainOf[node]!;
    if (domain < 0 && this.#roles.subject[pod] === 1) return false;
    if (this.#roles.member[pod] !== 1) return true;
    const opens = domain >= 0 && this.#members[domain] === 0 ? 1 : 0;
    return this.#distinct + opens + this.#waiting - 1 >= this.#minDistinct;
  }

  holds(): boolean {
    return this.#distinct + this.#waiting >= this.#minDistinct;
  }
}
