import { authorizedFetch, systemClock } from "@isochrone/runtime/basics";
import { GraphClient } from "@isochrone/topology/client";
import { usageError } from "./errors.ts";

export interface GraphServerOptions {
  readonly server: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
}

const TIMEOUT_MS = 10_000;

/** Throws CommandError for an unused certificate file. */
export function graphClientOf({ server, tokenFile, caFile }: GraphServerOptions): GraphClient {
  if (caFile !== undefined && !server.startsWith("https:"))
    throw usageError(`--ca-file needs an https address in --server, got ${server}`);
  const files = { tokenFile: tokenFile ?? null, caFile: caFile ?? null };
  const fetch = authorizedFetch({ ...files, clock: systemClock });
  return new GraphClient({ baseUrl: server, timeoutMs: TIMEOUT_MS, fetch });
}
