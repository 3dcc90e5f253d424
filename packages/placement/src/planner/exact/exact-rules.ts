// `at(pod, domain)` returns terms that are 1 if the pod is in the domain.
import type { LinearProgram, Terms } from "@isochrone/primitives/algorithms";
import type {
  ApartConstraint,
  DomainConstraint,
  SpanConstraint,
  SpreadConstraint,
  TogetherConstraint,
} from "../objective/plan-problem.ts";

type InDomain = (pod: number, domain: number) => Terms;

export function addRule(program: LinearProgram, rule: DomainConstraint, at: InDomain, prefix: string): void {
  switch (rule.kind) {
    case "spread":
      return addSpread(program, rule, at, prefix);
    case "span":
      return addSpan(program, rule, at, prefix);
    case "apart":
      return addApart(program, rule, at);
    case "together":
      return addTogether(program, rule, at, prefix);
    default:
      throw new TypeError(`no rows for ${String(rule satisfies never)}`);
  }
}

/** The count of a subject's domain exceeds no other by more than `maxSkew`. */
function addSpread(
  program: LinearProgram,
  { placed, members, subjects, maxSkew, minDomains }: SpreadConstraint,
  at: InDomain,
  prefix: string,
): void {
  const least = `${prefix}least`;
  const tooFew = minDomains !== null && placed.length < minDomains;
  const count = (domain: number): Terms => members.flatMap((pod) => at(pod, domain));
  for (const [domain, there] of placed.entries()) {
    if (!tooFew) program.row([[1, least], ...negative(count(domain))], "<=", there);
    // The row binds only in the subject's domain.
    const most = there + members.length;
    for (const subject of subjects) {
      const here = at(subject, domain).map(([, variable]) => [most, variable] as const);
      if (here.length === 0) continue;
      const floor: Terms = tooFew ? [] : [[-1, least]];
      program.row(summed([...count(domain), ...floor, ...here]), "<=", maxSkew + most - there);
    }
  }
}

function addSpan(
  program: LinearProgram,
  { placed, members, minDistinct }: SpanConstraint,
  at: InDomain,
  prefix: string,
): void {
  const opened: [number, string][] = [];
  for (const [domain, there] of placed.entries()) {
    const held = members.flatMap((pod) => at(pod, domain));
    if (there > 0 || held.length === 0) continue;
    const open = `${prefix}open${domain}`;
    program.upTo(open, 1);
    program.row([[1, open], ...negative(held)], "<=", 0);
    opened.push([1, open]);
  }
  program.row(opened, ">=", minDistinct - placed.filter((count) => count > 0).length);
}

function addApart(
  program: LinearProgram,
  { placed, members, subjects }: ApartConstraint,
  at: InDomain,
): void {
  for (const [domain, there] of placed.entries()) {
    for (const subject of subjects) {
      if (there > 0) program.row(at(subject, domain), "<=", 0);
      for (const member of members)
        if (member !== subject) program.row([...at(subject, domain), ...at(member, domain)], "<=", 1);
    }
  }
}

/** A domain needs one of the others' pods. Without such pods, all subjects form one group. */
function addTogether(
  program: LinearProgram,
  { placed, members, subjects }: TogetherConstraint,
  at: InDomain,
  prefix: string,
): void {
  const seeds = members.filter((pod) => !subjects.includes(pod));
  const founding = seeds.length === 0 && placed.every((count) => count === 0);
  const homes: [number, string][] = [];
  for (const [domain, there] of placed.entries()) {
    const home = `${prefix}home${domain}`;
    if (founding) {
      program.binary(home);
      homes.push([1, home]);
    }
    const company: Terms = founding ? [[-1, home]] : negative(seeds.flatMap((pod) => at(pod, domain)));
    if (there === 0)
      for (const subject of subjects) program.row([...at(subject, domain), ...company], "<=", 0);
  }
  if (founding) program.row(homes, "<=", subjects.some((pod) => members.includes(pod)) ? 1 : 0);
}

function negative(terms: Terms): Terms {
  return terms.map(([coefficient, variable]) => [-coefficient, variable] as const);
}

function summed(terms: Terms): Terms {
  const sums = new Map<string, number>();
  for (const [coefficient, variable] of terms) sums.set(variable, (sums.get(variable) ?? 0) + coefficient);
  return [...sums].map(([variable, coefficient]) => [coefficient, variable] as const);
}
