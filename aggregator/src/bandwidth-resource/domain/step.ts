import type { BitsPerSecond } from "@isochrone/primitives";
import { stickyBandwidth } from "../../network-topology/domain/sticky.ts";

/** Where advertised capacities come from. */
type AdvertiseMode = "off" | "declared" | "measured";
export type BandwidthOrigin = "measured" | "declared";

/** A node's bandwidth as its object tells; bits per second, null where it doesn't. */
export interface NodeBandwidth {
  /** The extended resource, as capacity and as what is allocatable. */
  readonly capacity: number | null;
  readonly allocatable: number | null;
  /** What was advertised here, as the node's condition says. */
  readonly advertised: number | null;
  /** Where that came from. */
  readonly advertisedOrigin: BandwidthOrigin | null;
  /** By annotation. */
  readonly declared: number | null;
}

/** What to do about a node's extended resource. */
export type BandwidthStep =
  | { readonly kind: "advertise"; readonly bitsPerSecond: BitsPerSecond; readonly origin: BandwidthOrigin }
  | { readonly kind: "withdraw" }
  /**
   * Nothing: it is as it should be; nothing is known; somebody else advertises it; or somebody else changed
   * what we did.
   */
  | { readonly kind: "current" | "unknown" | "foreign" | "changed" };

/**
 * @param tolerance share by which a measured capacity may differ from what is advertised before that is
 * changed
 */
export function bandwidthStep(
  mode: AdvertiseMode,
  node: NodeBandwidth,
  measured: number | null,
  tolerance: number,
): BandwidthStep {
  const { capacity, advertised } = node;
  if (mode === "off") return { kind: advertised === null ? "current" : "withdraw" };
  if (advertised === null && capacity !== null) return { kind: "foreign" };
  // A kubelet that starts anew sets extended resources to 0.
  if (advertised !== null && capacity !== null && capacity !== 0 && capacity !== advertised)
    return { kind: "changed" };
  const wanted = wantedBandwidth(mode, node, measured, tolerance);
  if (wanted === null) return { kind: advertised === null ? "unknown" : "withdraw" };
  const isCurrent = capacity === wanted.bitsPerSecond && node.allocatable !== null;
  return isCurrent ? { kind: "current" } : { kind: "advertise", ...wanted };
}

/**
 * A declaration is taken as it is; a figure that is no longer measured stays what it was: tests are rare, and
 * no news is no change.
 */
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
