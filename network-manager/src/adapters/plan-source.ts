import type { Fetch } from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import type { PlanSource } from "../ports/ports.ts";

/** Bytes of an answer that are read at most: 5,000 flows with the longest names. */
const MAX_BODY_BYTES = 16_777_216;
const TIMEOUT_MS = 5_000;

interface PlanSourceOptions {
  readonly aggregatorUrl: string;
  readonly node: string;
  /** E.g. one that sends a token. */
  readonly fetch: Fetch;
}

/** Tells the aggregator which plan's rules stand on the node: `EPOCH/GENERATION`. */
const STANDING_HEADER = "isochrone-flow-generation";

/** Reads the node's plan from the aggregator. */
export function createPlanSource({ aggregatorUrl, node, fetch }: PlanSourceOptions): PlanSource {
  let told: Readonly<Record<string, string>> = {};
  const client = new GraphClient({
    baseUrl: aggregatorUrl,
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...told }, redirect: "error" }),
    timeoutMs: TIMEOUT_MS,
    maxBodyBytes: MAX_BODY_BYTES,
  });
  return {
    async fetch(standing, signal) {
      told = standing === null ? {} : { [STANDING_HEADER]: `${standing.epoch}/${standing.generation}` };
      const { value } = await client.flowPlan(node, signal);
      return value;
    },
  };
}
