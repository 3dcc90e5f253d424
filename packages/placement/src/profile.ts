import { PlacementError } from "./errors.ts";
import { DEFAULT_WEIGHTS, RESOURCE_NETWORK, ResourceNetwork } from "./resource-network.ts";
import type { ResourceNetworkWeights } from "./resource-network.ts";
import { COMBINATION_MODES } from "./strategy.ts";
import type { CombinationMode, Strategy } from "./strategy.ts";

export const STRATEGIES = [RESOURCE_NETWORK] as const;
export type StrategyName = (typeof STRATEGIES)[number];

/** Which strategy scores, how its parts are combined, and with which weights. */
export interface StrategyProfile {
  readonly strategy: string;
  readonly mode: string;
  /** Left-out weights have their defaults; a lone one of a pair determines the other. */
  readonly settings?: Readonly<Record<string, number>>;
}

/** Throws PlacementError, which names setting, rule and value. */
export function createStrategy(profile: StrategyProfile): Strategy {
  if (!(STRATEGIES as readonly string[]).includes(profile.strategy)) {
    throw new PlacementError(
      "unknown_strategy",
      `strategy must be one of ${STRATEGIES.join(", ")}, got ${profile.strategy}`,
    );
  }
  if (!isMode(profile.mode)) {
    throw new PlacementError(
      "unknown_mode",
      `mode of ${profile.strategy} must be one of ${COMBINATION_MODES.join(", ")}, got ${profile.mode}`,
    );
  }
  return new ResourceNetwork(profile.mode, resolveWeights(profile.settings ?? {}));
}

function isMode(mode: string): mode is CombinationMode {
  return (COMBINATION_MODES as readonly string[]).includes(mode);
}

function resolveWeights(settings: Readonly<Record<string, number>>): ResourceNetworkWeights {
  for (const name of Object.keys(settings)) {
    if (!(name in DEFAULT_WEIGHTS)) {
      throw new PlacementError(
        "invalid_setting",
        `settings must be of ${Object.keys(DEFAULT_WEIGHTS).join(", ")}, got ${name}`,
      );
    }
  }
  const [alpha, beta] = pair(settings["alpha"], settings["beta"]);
  const [gamma, delta] = pair(settings["gamma"], settings["delta"]);
  return { alpha, beta, gamma, delta };
}

function pair(first: number | undefined, second: number | undefined): [number, number] {
  if (first === undefined && second === undefined) return [0.5, 0.5];
  return [first ?? 1 - second!, second ?? 1 - first!];
}
