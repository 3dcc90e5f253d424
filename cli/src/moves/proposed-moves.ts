import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { ExclusionRules, PreviousMoves } from "@isochrone/placement";
import { authorizedFetch, systemClock } from "@isochrone/runtime/basics";
import type { GraphServerOptions } from "../graph-client.ts";

const TIMEOUT_MS = 10_000;

interface Proposed {
  readonly steps: ReadonlyMap<string, PreviousMoves>;
  /** The service's exclusion rules; null: no proposer or no answer. */
  readonly rules: ExclusionRules | null;
}

const NOTHING: Proposed = { steps: new Map(), rules: null };

/** Returns the page's proposals, preferred unless a new plan is clearly better. @param namespace "": all */
export async function proposedMoves(
  namespace: string,
  { server, tokenFile, caFile }: GraphServerOptions,
): Promise<Proposed> {
  const query = new URLSearchParams({ kind: "proposal", ...(namespace === "" ? {} : { namespace }) });
  const url = `${server.replace(/\/+$/, "")}/api/v1/plans?${query.toString()}`;
  try {
    const files = { tokenFile: tokenFile ?? null, caFile: caFile ?? null };
    const fetch = authorizedFetch({ ...files, clock: systemClock });
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const answer: unknown = response.ok ? await response.json() : null;
    const { plans, rules } = looseFields<Record<"plans" | "rules", unknown>>(answer);
    const steps = looseList<Record<"workflow" | "pods", unknown>>(plans).map(
      ({ workflow, pods }) => [looseText(workflow), stepsOf(looseList<ProposedPod>(pods))] as const,
    );
    return { steps: new Map(steps), rules: rulesOf(rules) };
  } catch {
    return NOTHING;
  }
}

type ProposedPod = Record<"name" | "node" | "step", unknown>;

/** Earlier releases propose pods one by one. */
function stepsOf(pods: readonly Partial<ProposedPod>[]): PreviousMoves {
  const steps = Map.groupBy(pods, ({ step, name }) => (typeof step === "number" ? step : name));
  return [...steps.values()].map((moves) =>
    moves.map(({ name, node }) => ({ pod: looseText(name), to: looseText(node) })),
  );
}

function rulesOf(value: unknown): ExclusionRules | null {
  const { minPodAgeMs, ...flags } = looseFields<ExclusionRules>(value);
  const { allowLocalStorage, allowStatefulSets, allowSingleReplicas } = flags;
  if (typeof minPodAgeMs !== "number") return null;
  return {
    minPodAgeMs,
    allowLocalStorage: allowLocalStorage === true,
    allowStatefulSets: allowStatefulSets === true,
    allowSingleReplicas: allowSingleReplicas === true,
  };
}
