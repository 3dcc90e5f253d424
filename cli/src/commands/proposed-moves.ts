// What the scheduler-plugin proposes for workflows that run, as the graph API passes it on.
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { PreviousMoves } from "@isochrone/placement";
import { authorizedFetch, systemClock } from "@isochrone/runtime/basics";
import type { GraphServerOptions } from "../graph-client.ts";

const TIMEOUT_MS = 10_000;

/**
 * By workflow, so that a plan asked for here is the one that the page shows, unless another one is clearly
 * better. Empty where nobody proposes, or can be asked.
 */
export async function proposedMoves(
  namespace: string,
  { server, tokenFile, caFile }: GraphServerOptions,
): Promise<ReadonlyMap<string, PreviousMoves>> {
  const query = new URLSearchParams({ kind: "proposal", namespace });
  const url = `${server.replace(/\/+$/, "")}/api/v1/plans?${query.toString()}`;
  try {
    const files = { tokenFile: tokenFile ?? null, caFile: caFile ?? null };
    const fetch = authorizedFetch({ ...files, clock: systemClock });
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const answer: unknown = response.ok ? await response.json() : null;
    const { plans } = looseFields<Record<"plans", unknown>>(answer);
    return new Map(
      looseList<Record<"workflow" | "pods", unknown>>(plans).map(({ workflow, pods }) => [
        looseText(workflow),
        new Map(looseList(pods).map(({ name, node }) => [looseText(name), looseText(node)])),
      ]),
    );
  } catch {
    return new Map();
  }
}
