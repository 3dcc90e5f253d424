// Checks an assignment against the contract, independently of the planner.
import type { DomainConstraint, PlanProblem } from "../objective/plan-problem.ts";

/** Faults of an assignment. Pods without a node have none. */
export function faultsOf(problem: PlanProblem, assignment: Int32Array): string[] {
  return [
    ...nodeFaults(problem, assignment),
    ...problem.constraints.flatMap((rule) => ruleFaults(rule, assignment)),
  ];
}

function nodeFaults({ nodes, pods, resources }: PlanProblem, assignment: Int32Array): string[] {
  const faults: string[] = [];
  for (const [pod, node] of assignment.entries()) {
    if (node >= 0 && pods[pod]!.allowed?.[node] === 0)
      faults.push(`${pods[pod]!.name} isn't allowed on ${nodes[node]!.name}`);
  }
  for (const [at, { name, free }] of nodes.entries()) {
    const here = pods.filter((_, pod) => assignment[pod] === at);
    const back = pods.filter(({ current }) => current === at);
    for (const [resource, title] of resources.entries()) {
      const sum = (list: typeof here): number =>
        list.reduce((total, { demand }) => total + demand[resource]!, 0);
      if (sum(here) > 0 && sum(here) > free[resource]! + sum(back))
        faults.push(`${name} is short of ${title}`);
    }
  }
  return faults;
}

interface Scene {
  readonly rule: DomainConstraint;
  readonly subjects: readonly number[];
  readonly waiting: number;
  readonly counts: readonly number[];
  readonly domain: (pod: number) => number;
}

function ruleFaults(rule: DomainConstraint, assignment: Int32Array): string[] {
  const domain = (pod: number): number => (assignment[pod]! < 0 ? -1 : rule.domainOf[assignment[pod]!]!);
  const counts = [...rule.placed];
  for (const pod of rule.members) if (domain(pod) >= 0) counts[domain(pod)]!++;
  const subjects = rule.subjects.filter((pod) => assignment[pod]! >= 0);
  const waiting = rule.members.filter((pod) => assignment[pod]! < 0).length;
  const lost = subjects.filter((pod) => domain(pod) < 0).map((pod) => `pod ${pod} is in no domain`);
  return [...lost, ...kindFaults({ rule, subjects, waiting, counts, domain })].map(
    (fault) => `${rule.name}: ${fault}`,
  );
}

function kindFaults({ rule, subjects, waiting, counts, domain }: Scene): string[] {
  switch (rule.kind) {
    case "spread": {
      const tooFew = rule.minDomains !== null && counts.length < rule.minDomains;
      const most = rule.maxSkew + (tooFew ? 0 : Math.min(...counts));
      return subjects.filter((pod) => counts[domain(pod)]! > most).map((pod) => `pod ${pod} skews`);
    }
    case "span": {
      const distinct = counts.filter((count) => count > 0).length;
      return distinct + waiting < rule.minDistinct ? [`only ${distinct} domains`] : [];
    }
    case "apart":
      return subjects
        .filter((pod) => counts[domain(pod)]! > (rule.members.includes(pod) ? 1 : 0))
        .map((pod) => `pod ${pod} isn't alone`);
    case "together":
      return strays(rule, subjects, domain);
    default:
      throw new TypeError(`unknown ${String(rule satisfies never)}`);
  }
}

/** Admits subjects one by one, as long as one has company or is the first. */
function strays(
  rule: DomainConstraint,
  subjects: readonly number[],
  domain: (pod: number) => number,
): string[] {
  const present = [...rule.placed];
  for (const pod of rule.members)
    if (!rule.subjects.includes(pod) && domain(pod) >= 0) present[domain(pod)]!++;
  const waiting = new Set(subjects);
  for (let admitted = true; admitted;) {
    admitted = false;
    for (const pod of waiting) {
      const member = rule.members.includes(pod);
      const first = member && present.every((count) => count === 0);
      const lonely = present[domain(pod)] === 0;
      if (lonely && !first) continue;
      if (member) present[domain(pod)]!++;
      waiting.delete(pod);
      admitted = true;
    }
  }
  return [...waiting].map((pod) => `pod ${pod} is without company`);
}
