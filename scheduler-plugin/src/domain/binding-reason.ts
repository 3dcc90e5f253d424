// Explains why a pod is not on the node with the best score, including what isn't known.
import type { Binding, Decision } from "@isochrone/topology";
import { MAX_EXTENDER_PRIORITY, priorityOf } from "./host-priorities.ts";
import type { PodPlace } from "./pod-places.ts";

interface BindingFacts {
  readonly place: PodPlace;
  readonly siblingsOnBest: number;
  readonly isPlanned: boolean;
}

type Verdict = Pick<Binding, "agreement" | "cause" | "reason">;

const NOTHING: Verdict = { agreement: null, cause: null, reason: null };
const AS_CHOSEN: Verdict = { agreement: "as_chosen", cause: null, reason: null };

export function bindingOf(decision: Decision, facts: BindingFacts): Binding {
  const { place } = facts;
  const { state, node, atMs } = place;
  const verdict = node === null ? NOTHING : verdictOf(decision, node, facts);
  return { state, node, at: atMs === null ? null : new Date(atMs).toISOString(), ...verdict };
}

function verdictOf(decision: Decision, node: string, { siblingsOnBest, isPlanned }: BindingFacts): Verdict {
  const { best, kind = "score" } = decision;
  // An eviction names the replacement's target; the replacement has another name.
  if (best === null || kind === "eviction") return NOTHING;
  if (node === best) return AS_CHOSEN;
  return kind === "plan" || isPlanned
    ? besidePlan(decision, best)
    : besideScore(decision, best, node, siblingsOnBest);
}

function besidePlan({ outcome }: Decision, best: string): Verdict {
  const reason = outcome?.reason ?? null;
  if (reason !== null)
    return { agreement: "otherwise", cause: "plan", reason: `The plan wanted ${best}: ${reason}.` };
  return {
    agreement: "otherwise",
    cause: "unknown",
    reason: `The plan wanted ${best}; why the pod is elsewhere isn't known.`,
  };
}

function besideScore(
  { candidates, asked = candidates.length }: Decision,
  best: string,
  node: string,
  siblingsOnBest: number,
): Verdict {
  const of = (cause: Binding["cause"], reason: string): Verdict => ({
    agreement: "otherwise",
    cause,
    reason,
  });
  const own = candidates.find(({ name }) => name === node);
  const top = candidates.find(({ name }) => name === best)?.score ?? 0;
  if (own === undefined)
    return asked > candidates.length
      ? of(
          "other_scores",
          `${node} isn't among the ${candidates.length} best of the ${asked} nodes that Isochrone was asked about: the scheduler's own scores outweighed those of Isochrone, or the answer came too late.`,
        )
      : of(
          "not_asked",
          `Isochrone wasn't asked about ${node}: the scheduler decided by another attempt, or somebody else bound the pod.`,
        );
  if (!own.feasible)
    return of(
      "filter",
      `Isochrone's filter refused ${node} (${own.reason ?? "no reason is kept"}), and the scheduler went on without that answer.`,
    );
  if (own.score === top)
    return {
      agreement: "tie",
      cause: null,
      reason: `${node} and ${best} tie; the scheduler chose between them.`,
    };
  const points = priorityOf(own.score, top);
  if (points === MAX_EXTENDER_PRIORITY)
    return of(
      "equal_points",
      `Both got ${points} of ${MAX_EXTENDER_PRIORITY} points, because kube-scheduler takes whole points only; its own scores chose between them.`,
    );
  const lead = `${best} got ${MAX_EXTENDER_PRIORITY} of ${MAX_EXTENDER_PRIORITY} points from Isochrone, ${node} ${points}.`;
  if (siblingsOnBest > 0)
    return of(
      "spread",
      `${lead} ${siblingsOnBest === 1 ? "A pod" : `${siblingsOnBest} pods`} of the same workload ${siblingsOnBest === 1 ? "was" : "were"} on ${best} already: most likely the scheduler's spread plugin (PodTopologySpread) outweighed that.`,
    );
  return of(
    "other_scores",
    `${lead} The scheduler's own scores outweighed that, or the answer came too late; Isochrone doesn't see which.`,
  );
}
