import { createStrategy } from "@isochrone/placement";
import { CurrentScores } from "./domain/current-scores.ts";
import type { DecisionLog } from "./domain/decision-log.ts";
import { DecisionView } from "./domain/decision-view.ts";
import type { Ledger } from "./domain/ledger.ts";
import { profileOf } from "./domain/strategy-profile.ts";
import type { GraphSource } from "./ports/ports.ts";
import type { SchedulerPluginConfig } from "./settings.ts";

interface DecisionViewDeps {
  readonly decisions: DecisionLog;
  readonly graphs: GraphSource;
  readonly ledger: Ledger;
  readonly followsPods: boolean;
}

/** Scores again with its own strategy instance: the extender's remembers waiting pods. */
export function createDecisionView(config: SchedulerPluginConfig, deps: DecisionViewDeps): DecisionView {
  const { usageHeadroom } = config;
  const strategy = createStrategy(profileOf(config));
  return new DecisionView({ ...deps, scores: new CurrentScores({ ...deps, strategy, usageHeadroom }) });
}
