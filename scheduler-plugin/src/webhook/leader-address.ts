import { networkInterfaces } from "node:os";
import type { ListenAddress } from "@isochrone/runtime/http";

const EVERYWHERE = new Set(["0.0.0.0", "::"]);

/**
 * URL at which other replicas reach this webhook; null if it listens on loopback only. A pod has one
 * interface, so its first address is the pod's.
 */
export function reachableUrl({ host, port, url }: ListenAddress): string | null {
  if (!EVERYWHERE.has(host)) return url;
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // An IPv6 listener serves both families, an IPv4 listener one.
    .find(({ internal, family }) => !internal && (host === "::" || family === "IPv4"));
  if (own === undefined) return null;
  return `https://${own.family === "IPv6" ? `[${own.address}]` : own.address}:${port}`;
}
