// Checks a quick run by a test over all pairs: our contender is below the baseline, and equals don't differ.
import type { Verdict } from "../frame/experiment.ts";
import type { Analysis, Overall } from "../report/analysis.ts";
import { changeInterval, probability } from "../report/format.ts";
import type { Scenario } from "../scenario/model.ts";

/** Significance level for the expected direction. */
const SIGNIFICANT = 0.05;
/** Stricter level for equals. With fixed seeds the outcome is fixed, so a false alarm would be permanent. */
const DIFFERENT = 0.01;

export function verdictsOf(scenario: Scenario, analyses: readonly Analysis[]): readonly Verdict[] {
  return analyses.flatMap(({ ground, overall }) =>
    scenario.contenders.flatMap((contender): Verdict[] => {
      if (contender !== "isochrone" && contender !== "null") return [];
      if (contender === scenario.baseline) return [];
      const found = overall.find((each) => each.contender === contender);
      const where = `${scenario.name}, ${ground}`;
      if (found === undefined)
        return [{ isHeld: false, text: `${where}: ${contender} must have trials to compare, got none` }];
      return [contender === "isochrone" ? lower(where, scenario, found) : equal(where, scenario, found)];
    }),
  );
}

function lower(where: string, { baseline }: Scenario, { contender, p95, test, pairs }: Overall): Verdict {
  const isHeld = test.pLess < SIGNIFICANT && p95.mean < 0;
  const facts = `${changeInterval(p95)}, signed-rank p ${probability(test.pLess)} of ${pairs} pairs`;
  return isHeld
    ? { isHeld, text: `${where}: the p95 of ${contender} is lower than ${baseline}'s (${facts})` }
    : {
        isHeld,
        text: `${where}: the p95 of ${contender} is not shown to be lower than ${baseline}'s (${facts}; p below ${SIGNIFICANT} would show it)`,
      };
}

function equal(where: string, { baseline }: Scenario, { contender, p95, test, pairs }: Overall): Verdict {
  const isHeld = test.pTwoSided >= DIFFERENT;
  const facts = `${changeInterval(p95)}, signed-rank p ${probability(test.pTwoSided)} of ${pairs} pairs`;
  return isHeld
    ? {
        isHeld,
        text: `${where}: ${contender}, which is ${baseline} once more, shows no difference (${facts})`,
      }
    : {
        isHeld,
        text: `${where}: ${contender}, which is ${baseline} once more, shows a difference, which equals must not (${facts})`,
      };
}
