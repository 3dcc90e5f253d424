import type { Fetch } from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import type { GraphReader } from "./round-trips.ts";

const TIMEOUT_MS = 10_000;

export function graphReader(url: string, fetch: Fetch): GraphReader {
  const client = new GraphClient({
    baseUrl: url,
    fetch: (address, init) => fetch(address, { ...init, redirect: "error" }),
    timeoutMs: TIMEOUT_MS,
  });
  return { cluster: async (signal) => (await client.cluster(signal)).value };
}
