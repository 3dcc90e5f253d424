import { networkInterfaces } from "node:os";
import type { ListenAddress } from "@isochrone/runtime/http";

const EVERYWHERE = new Set(["0.0.0.0", "::"]);

/**
 * Where other replicas reach the webhook of this one; null: it has no address beside loopback. A pod has one
 * interface, so the first address is the pod's.
 */
export function reachableUrl({ host, port, url }: ListenAddress): string | null {
  if (!EVERYWHERE.has(host)) return url;
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // An IPv6 listener answers both; one of IPv4 can't answer the other.
    .find(({ internal, family }) => !internal && (host === "::" || family === "IPv4"));
  if (own === undefined) return null;
  return `https://${own.family === "IPv6" ? `[${own.address}]` : own.address}:${port}`;
}
