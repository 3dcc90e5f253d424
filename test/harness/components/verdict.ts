import { covers, textOf, type Grant, type Use } from "./grants.ts";

export interface Scenario {
  readonly name: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Requests outside all scenarios belong to normal operation. */
export interface Evidence {
  readonly grants: readonly Grant[];
  readonly uses: readonly Use[];
  readonly scenarios: readonly Scenario[];
  /** Permissions that only one scenario needs, as texts, with the scenario's name. */
  readonly faultsOnly: Readonly<Record<string, string>>;
  /** Fault permissions that normal operation may need by chance, mostly on a busy machine. */
  readonly byChance: ReadonlySet<string>;
}

/** All lists are empty if the grants are exactly the needed ones. */
export interface Verdict {
  readonly denied: readonly string[];
  /** Permissions that neither normal operation nor their scenario used. */
  readonly unused: readonly string[];
  /** Wrong table entries: not granted, used in normal operation, or for a scenario that did not happen. */
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
  // A starting server denies granted requests until it has loaded its roles.
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
