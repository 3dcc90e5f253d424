// Endpoint choice. If the learned policy can't decide, `deadline` does.
import { byDeadline, byLeastRequest, type EndpointChoice } from "@isochrone/dispatch/endpoints";
import { EndpointPolicy } from "@isochrone/dispatch/learned";
import { reasonOf, type Draw } from "@isochrone/primitives";
import { SettingsError, type Logger } from "@isochrone/runtime";
import { readFileSync } from "node:fs";
import shippedWeights from "./endpoint-weights.json" with { type: "json" };
import type { DispatcherMetrics } from "./metrics.ts";
import { LEARNED_FILE, type Policy } from "./ports/ports.ts";
import type { Endpoint } from "./services/endpoint.ts";

type Ask = Parameters<typeof byDeadline>[1];

interface Chosen {
  readonly choice: EndpointChoice<Endpoint> | null;
  readonly policy: Policy;
}

export interface ChoicePolicy {
  choose(candidates: readonly Endpoint[], ask: Ask, draw: Draw): Chosen;
}

interface PolicyDeps {
  readonly metrics: Pick<DispatcherMetrics, "unlearned">;
  readonly logger: Logger;
}

/**
 * @param setting a policy, or `learned:` and the path of a weights file
 * @throws SettingsError for unusable weights
 */
export function createPolicy(setting: string, { metrics, logger }: PolicyDeps): ChoicePolicy {
  if (!setting.startsWith("learned")) {
    const policy = setting === "deadline" ? "deadline" : "least-request";
    const by = policy === "deadline" ? byDeadline : byLeastRequest;
    return { choose: (...asked) => ({ choice: by(...asked), policy }) };
  }
  const learned = weightsOf(setting);
  return {
    choose(candidates, ask, draw) {
      const choice = learned.choose(candidates, ask, draw);
      if (choice !== null) return { choice, policy: "learned" };
      if (candidates.length > 0) {
        metrics.unlearned();
        logger.warnOnce("learned", "the learned policy has no answer, endpoints are chosen by deadline", {
          endpoints: candidates.length,
        });
      }
      return { choice: byDeadline(candidates, ask, draw), policy: "deadline" };
    },
  };
}

function weightsOf(setting: string): EndpointPolicy {
  const file = setting.startsWith(LEARNED_FILE) ? setting.slice(LEARNED_FILE.length) : null;
  try {
    const text = file === null ? JSON.stringify(shippedWeights) : readFileSync(file, "utf8");
    return EndpointPolicy.read(text, file ?? "the weights of the dispatcher");
  } catch (error) {
    throw new SettingsError(
      [`dispatcher.policy must name weights that can be used: ${reasonOf(error)}`],
      error,
    );
  }
}
