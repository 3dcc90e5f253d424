import { createStrategy, PlacementError, resolvedProfile } from "@isochrone/placement";
import type { StrategyProfile } from "@isochrone/placement";
import type { DecisionProfile } from "@isochrone/topology";

interface ScoreSettings {
  readonly strategy: string;
  readonly mode: string | null;
  readonly alpha: number;
  readonly beta: number;
  readonly gamma: number;
  readonly delta: number;
  readonly affinityAlpha: number;
  readonly affinityBeta: number;
  readonly affinityGamma: number;
  readonly channelPriorities: readonly string[];
  readonly bytesPerRequest: number;
  readonly minSpread: number;
}

/** Each strategy has its own settings, so that a profile may combine them. */
export function profileOf(settings: ScoreSettings): StrategyProfile {
  const { strategy, mode, alpha, beta, gamma, delta, bytesPerRequest, minSpread } = settings;
  return {
    strategy,
    mode,
    channelPriorities: settings.channelPriorities.join(","),
    settings: {
      "resource-network.alpha": alpha,
      "resource-network.beta": beta,
      "resource-network.gamma": gamma,
      "resource-network.delta": delta,
      "resource-network.minSpread": minSpread,
      "communication-affinity.alpha": settings.affinityAlpha,
      "communication-affinity.beta": settings.affinityBeta,
      "communication-affinity.gamma": settings.affinityGamma,
      "communication-affinity.minSpread": minSpread,
      bytesPerRequest,
    },
  };
}

export function recordedProfile(
  settings: ScoreSettings & { readonly usageHeadroom: boolean },
): DecisionProfile {
  const { strategy, settings: values, channelPriorities } = resolvedProfile(profileOf(settings));
  return { strategy, settings: values, channelPriorities, usageHeadroom: settings.usageHeadroom };
}

export function profileMistake(settings: ScoreSettings): string | null {
  try {
    createStrategy(profileOf(settings));
    return null;
  } catch (error) {
    if (error instanceof PlacementError) return error.message;
    throw error;
  }
}
