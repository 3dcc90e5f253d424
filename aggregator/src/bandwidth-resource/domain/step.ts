import type { BitsPerSecond } from "@isochrone/primitives";
import { stickyBandwidth } from "../../network-topology/domain/sticky.ts";

type AdvertiseMode = "off" | "declared" | "measured";
export type BandwidthOrigin = "measured" | "declared";

/** Values of a node's object, bit/s; null: absent. */
export interface NodeBandwidth {
  readonly capacity: number | null;
  readonly allocatable: number | null;
  /** The value that we advertised, from the node's condition. */
  readonly advertised: number | null;
  readonly advertisedOrigin: BandwidthOrigin | null;
  readonly declared: number | null;
}

export type BandwidthStep =
  | { readonly kind: "advertise"; readonly bitsPerSecond: BitsPerSecond; readonly origin: BandwidthOrigin }
  | { readonly kind: "withdraw" }
  /** No action: up to date, unknown, foreign, or ours but changed by another component. */
  | { readonly kind: "current" | "unknown" | "foreign" | "changed" };

/** @param tolerance relative difference of a measured capacity that triggers an update */
export function bandwidthStep(
  mode: AdvertiseMode,
  node: NodeBandwidth,
  measured: number | null,
  tolerance: number,
): BandwidthStep {
  const { capacity, advertised } = node;
  if (mode === "off") return { kind: advertised === null ? "current" : "withdraw" };
  if (advertised === null && capacity !== null) return { kind: "foreign" };
  // A restarted kubelet sets extended resources to 0.
  if (advertised !== null && capacity !== null && capacity !== 0 && capacity !== advertised)
    return { kind: "changed" };
  const wanted = wantedBandwidth(mode, node, measured, tolerance);
  if (wanted === null) return { kind: advertised === null ? "unknown" : "withdraw" };
  const isCurrent = capacity === wanted.bitsPerSecond && node.allocatable !== null;
  return isCurrent ? { kind: "current" } : { kind: "advertise", ...wanted };
}

/** Returns a declaration unchanged. An expired measurement keeps its value, because tests are rare. */
function wantedBandwidth(
  mode: "declared" | "measured",
  { advertised, advertisedOrigin, declared }: NodeBandwidth,
  measured: number | null,
  tolerance: number,
): { readonly bitsPerSecond: BitsPerSecond; readonly origin: BandwidthOrigin } | null {
  if (mode === "measured" && measured !== null)
    return { bitsPerSecond: stickyBandwidth(advertised, measured, tolerance), origin: "measured" };
  if (mode === "measured" && advertised !== null && advertisedOrigin === "measured")
    return { bitsPerSecond: advertised, origin: "measured" };
  return declared === null ? null : { bitsPerSecond: declared, origin: "declared" };
}
