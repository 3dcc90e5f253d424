import type { Fetch } from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import type { PlanSource } from "../ports/ports.ts";

/** Maximum response size: 5,000 flows with the longest names. */
const MAX_BODY_BYTES = 16_777_216;
const TIMEOUT_MS = 5_000;

interface PlanSourceOptions {
  readonly aggregatorUrl: string;
  readonly node: string;
  readonly fetch: Fetch;
}

/** Reports the plan in effect on the node: `EPOCH/GENERATION`. */
const STANDING_HEADER = "isochrone-flow-generation";

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
