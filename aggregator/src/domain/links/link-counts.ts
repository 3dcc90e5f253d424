import type { Distribution } from "@isochrone/telemetry";
import type { RttPart } from "./rtt-part.ts";

/** What a link's probes counted in one pane, or in a window of panes. */
export interface LinkCounts {
  sent: number;
  received: number;
  lost: number;
  late: number;
  /** Packets that the kernel didn't take; `lost` excludes them. */
  sendErrors: number;
  variationSeconds: number;
  variationCount: number;
}

/** What a link's probes found in a window of panes. */
export interface LinkPane extends LinkCounts {
  /** Null without an answer. */
  rtt: Distribution | null;
}

/** What they found in one pane. */
export interface PaneOfLink extends LinkCounts {
  rtt: RttPart | null;
}

/** Packet counts of a pane. */
export type PacketCount = "sent" | "received" | "lost" | "late" | "sendErrors";

/** Sum and number of the differences between successive round-trip times. */
export type Variation = "variationSeconds" | "variationCount";

/** All counts, in the order in which they are kept. */
export const LINK_COUNTS = [
  "sent",
  "received",
  "lost",
  "late",
  "sendErrors",
  "variationSeconds",
  "variationCount",
] as const satisfies readonly (keyof LinkCounts)[];

/**
 * Share of the decided packets that never came or could not be sent, 0 to 1; null if none was decided. A late
 * answer is no loss, unless nothing is answered in time.
 */
export function lossRatioOf({ received, lost, late, sendErrors }: LinkCounts): number | null {
  const answeredLate = received === 0 ? 0 : late;
  // The losses of the first late answers may lie before the window.
  const failed = Math.max(0, lost - answeredLate) + sendErrors;
  const decided = received + answeredLate + failed;
  return decided === 0 ? null : failed / decided;
}

/** Packets of a link whose fate was decided since they were last taken. */
export interface FreshPackets {
  /** Lost or not sendable, less those that were answered late; may be negative. */
  readonly failed: number;
  /** Includes late answers. */
  readonly received: number;
}
