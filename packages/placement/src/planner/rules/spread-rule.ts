import type { SpreadConstraint } from "../objective/plan-problem.ts";
import { Histogram } from "./histogram.ts";
import { rolesOf } from "./rule.ts";
import type { Roles, Rule } from "./rule.ts";

export class SpreadRule implements Rule {
  readonly name: string;
  readonly #roles: Roles;
  readonly #domainOf: Int32Array;
  readonly #maxSkew: number;
  /** Whether there are fewer domains than minDomains: the emptiest then counts as empty. */
  readonly #tooFew: boolean;
  readonly #members: Int32Array;
  readonly #subjects: Int32Array;
  readonly #all: Histogram;
  readonly #withSubjects: Histogram;

  constructor(constraint: SpreadConstraint, podCount: number) {
    const { placed } = constraint;
    this.name = constraint.name;
    this.#roles = rolesOf(podCount, constraint);
    this.#domainOf = constraint.domainOf;
    this.#maxSkew = constraint.maxSkew;
    this.#tooFew = constraint.minDomains !== null && placed.length < constraint.minDomains;
    this.#members = placed.slice();
    this.#subjects = new Int32Array(placed.length);
    const most = placed.reduce((max, count) => Math.max(max, count), 0) + constraint.members.length;
    this.#all = new Histogram(most);
    this.#withSubjects = new Histogram(most);
    for (const count of placed) this.#all.insert(count);
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
    const before = this.#members[domain]!;
    const after = before + this.#roles.member[pod]!;
    const least = this.#tooFew ? 0 : Math.min(after, this.#all.leastWithout(before));
    const counts = subject || this.#subjects[domain]! > 0;
    if (counts && after - least > this.#maxSkew) return false;
    return !strict || this.#withSubjects.greatest - least <= this.#maxSkew;
  }

  holds(): boolean {
    return this.#withSubjects.greatest - (this.#tooFew ? 0 : this.#all.least) <= this.#maxSkew;
  }

  #change(pod: number, node: number, by: 1 | -1): void {
    const domain = this.#domainOf[node]!;
    if (domain < 0) return;
    if (this.#subjects[domain]! > 0) this.#withSubjects.delete(this.#members[domain]!);
    if (this.#roles.subject[pod] === 1) this.#subjects[domain]! += by;
    if (this.#roles.member[pod] === 1) {
      this.#all.delete(this.#members[domain]!);
      this.#members[domain]! += by;
      this.#all.insert(this.#members[domain]!);
    }
    if (this.#subjects[domain]! > 0) this.#withSubjects.insert(this.#members[domain]!);
  }
}
