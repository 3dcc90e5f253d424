import type { Decision } from "@isochrone/topology";
import type { GraphClient } from "@isochrone/topology/client";

const RECENT = 1_000;

/** The answer to a question about a pod. */
interface FoundDecision {
  /** Null: none is kept, as far as the replicas that answered know. */
  readonly decision: Decision | null;
  /** Replicas of the scheduler-plugin that could not be asked: they may know more. */
  readonly incomplete: readonly string[];
}

/** Finds the newest decision about a pod or a workload of this name, with what the scorer says now. */
export async function findDecision(
  client: GraphClient,
  namespace: string,
  name: string,
  signal?: AbortSignal,
): Promise<FoundDecision> {
  const exact = await client.decisions({ namespace, pod: name, limit: 1, now: true }, signal);
  const { incomplete = [] } = exact.value;
  const [decision] = exact.value.decisions;
  if (decision !== undefined) return { decision, incomplete };
  const recent = await client.decisions({ namespace, limit: RECENT }, signal);
  const newest = recent.value.decisions.find(({ workload }) => workload === name);
  const missing = [...new Set([...incomplete, ...(recent.value.incomplete ?? [])])];
  if (newest === undefined) return { decision: null, incomplete: missing };
  const again = await client.decisions({ id: newest.id, limit: 1, now: true }, signal);
  return { decision: again.value.decisions[0] ?? newest, incomplete: missing };
}

/** One sentence; null: all replicas answered. */
export function unaskedSentence(incomplete: readonly string[]): string | null {
  if (incomplete.length === 0) return null;
  const [what, they] = incomplete.length === 1 ? ["Replica", "it"] : ["Replicas", "they"];
  return `${what} ${incomplete.join(", ")} of the scheduler-plugin could not be asked: ${they} may know a newer decision.`;
}
