import type { Decision } from "@isochrone/topology";
import type { GraphClient } from "@isochrone/topology/client";

const RECENT = 1_000;

/**
 * The newest decision about a pod or a workload of this name, with what the scorer says now; null: none is
 * kept.
 */
export async function findDecision(
  client: GraphClient,
  namespace: string,
  name: string,
  signal?: AbortSignal,
): Promise<Decision | null> {
  const exact = await client.decisions({ namespace, pod: name, limit: 1, now: true }, signal);
  const [decision] = exact.value.decisions;
  if (decision !== undefined) return decision;
  const recent = await client.decisions({ namespace, limit: RECENT }, signal);
  const newest = recent.value.decisions.find(({ workload }) => workload === name);
  if (newest === undefined) return null;
  const again = await client.decisions({ id: newest.id, limit: 1, now: true }, signal);
  return again.value.decisions[0] ?? newest;
}
