import type { Decision } from "@isochrone/topology";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";

const RECENT = 1_000;

interface FoundDecision {
  /** Null: unknown to all replicas that answered. */
  readonly decision: Decision | null;
  /** Replicas of the scheduler-plugin that did not answer; they may know more. */
  readonly incomplete: readonly string[];
}

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

/** Names namespaces that have such a pod or workload; null if none or unknown. */
export async function elsewhereText(
  client: GraphClient,
  namespace: string,
  name: string,
): Promise<string | null> {
  try {
    const { graphs } = await client.workflowChanges(null);
    const having = graphs
      .flatMap(({ workloads }) => workloads)
      .filter((workload) => workload.name === name || workload.pods.some((pod) => pod.name === name))
      .map((workload) => workload.namespace);
    const found = [...new Set(having)].sort();
    if (found.includes(namespace)) return "it runs there, and was placed before decisions were kept";
    if (found.length === 0) return null;
    return `it is in namespace ${found.join(" and ")}: give -n ${found[0]}`;
  } catch (error) {
    if (error instanceof GraphClientError) return null;
    throw error;
  }
}

/** One sentence; null: all replicas answered. */
export function unaskedSentence(incomplete: readonly string[]): string | null {
  if (incomplete.length === 0) return null;
  const [what, they] = incomplete.length === 1 ? ["Replica", "it"] : ["Replicas", "they"];
  return `${what} ${incomplete.join(", ")} of the scheduler-plugin could not be asked: ${they} may know a newer decision.`;
}
