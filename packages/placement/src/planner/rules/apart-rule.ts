import type { ApartConstraint } from "../objective/plan-problem.ts";
import { rolesOf } from "./rule.ts";
import type { Roles, Rule } from "./rule.ts";

export class ApartRule implements Rule {
  readonly name: string;
  readonly #roles: Roles;
  readonly #domainOf: Int32Array;
  /** Counts by domain: members including placed ones, subjects, and pods that are both. */
  readonly #members: Int32Array;
  readonly #subjects: Int32Array;
  readonly #both: Int32Array;
  #broken = 0;

  constructor(constraint: ApartConstraint, podCount: number) {
    this.name = constraint.name;
    this.#roles = rolesOf(podCount, constraint);
    this.#domainOf = constraint.domainOf;
    this.#members = constraint.placed.slice();
    this.#subjects = new Int32Array(constraint.placed.length);
    this.#both = new Int32Array(constraint.placed.length);
  }

  add(pod: number, node: number): void {
    this.#change(pod, node, 1);
  }

  remove(pod: number, node: number): void {
    this.#change(pod, node, -1);
  }

  admits(pod: number, node: number, strict: boolean): boolean {
    if (strict && this.#broken > 0) return false;
    const domain = this.#domainOf[node]!;
    const subject = this.#roles.subject[pod] === 1;
    if (domain < 0) return !subject;
    if (subject && this.#members[domain]! > 0) return false;
    return this.#roles.member[pod] !== 1 || this.#subjects[domain] === 0;
  }

  holds(): boolean {
    return this.#broken === 0;
  }

  #change(pod: number, node: number, by: 1 | -1): void {
    const domain = this.#domainOf[node]!;
    if (domain < 0) return;
    if (this.#isBroken(domain)) this.#broken--;
    const subject = this.#roles.subject[pod]!;
    const member = this.#roles.member[pod]!;
    this.#subjects[domain]! += by * subject;
    this.#members[domain]! += by * member;
    this.#both[domain]! += by * subject * member;
    if (this.#isBroken(domain)) this.#broken++;
  }

  /** A subject that is the only member doesn't conflict with itself. */
  #isBroken(domain: number): boolean {
    const pairs = this.#subjects[domain]! * this.#members[domain]!;
    return pairs > this.#both[domain]!;
  }
}
