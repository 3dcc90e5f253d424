// Whether what accounts may do is what they do.
import { covers, textOf, type Grant, type Use } from "./grants.ts";

/** A time in which something was wrong. */
export interface Scenario {
  readonly name: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Uses outside of all scenarios are everyday ones. */
export interface Evidence {
  readonly grants: readonly Grant[];
  readonly uses: readonly Use[];
  readonly scenarios: readonly Scenario[];
  /** Grants that only a scenario needs, as texts, with its name. */
  readonly faultsOnly: Readonly<Record<string, string>>;
  /** Those of them that chance may need on any day, on a busy machine above all. */
  readonly byChance: ReadonlySet<string>;
}

/** All empty: every grant is needed, and no more are. */
export interface Verdict {
  /** What was refused. */
  readonly denied: readonly string[];
  /** Grants that nobody used, neither every day nor in the scenario that they are for. */
  readonly unused: readonly string[];
  /**
   * Entries of the table that are wrong: not granted, used every day, or of a scenario that didn't happen.
   */
  readonly misnamed: readonly string[];
}

export function verdictOf({ grants, uses, scenarios, faultsOnly, byChance }: Evidence): Verdict {
  const isEveryday = ({ atMs }: Use): boolean => scenarios.every((scenario) => !isWithin(scenario, atMs));
  const everyday = uses.filter(isEveryday);
  const isUsed = (grant: Grant, among: readonly Use[]): boolean => among.some((use) => covers(grant, use));
  const neededBy = (grant: Grant): readonly Use[] => {
    const name = faultsOnly[textOf(grant)];
    const named = scenarios.filter((scenario) => scenario.name === name);
    return name === undefined
      ? everyday
      : uses.filter(({ atMs }) => named.some((one) => isWithin(one, atMs)));
  };
  // A server that starts denies what is granted, too: at first it knows no rules.
  const isDenied = (use: Use): boolean =>
    use.denial !== null && !(use.isPremature && grants.some((grant) => covers(grant, use)));
  return {
    denied: once(uses.filter(isDenied).map((use) => `${textOf(use)}: ${use.denial}`)),
    unused: grants.filter((grant) => !isUsed(grant, neededBy(grant))).map(textOf),
    misnamed: Object.entries(faultsOnly).flatMap(([text, name]) => {
      const grant = grants.find((one) => textOf(one) === text);
      if (grant === undefined) return [`${text}: not granted`];
      if (!scenarios.some((scenario) => scenario.name === name))
        return [`${text}: there is no scenario "${name}"`];
      return isUsed(grant, everyday) && !byChance.has(text) ? [`${text}: used without "${name}" too`] : [];
    }),
  };
}

function isWithin({ fromMs, untilMs }: Scenario, atMs: number): boolean {
  return fromMs <= atMs && atMs <= untilMs;
}

function once(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
