import type { Distribution } from "@isochrone/telemetry";
import type { RttPart } from "./rtt-part.ts";

export interface LinkCounts {
  sent: number;
  received: number;
  lost: number;
  late: number;
  /** Packets that the kernel refused; `lost` excludes them. */
  sendErrors: number;
  variationSeconds: number;
  variationCount: number;
}

export interface LinkPane extends LinkCounts {
  rtt: Distribution | null;
}

export interface PaneOfLink extends LinkCounts {
  rtt: RttPart | null;
}

export type PacketCount = "sent" | "received" | "lost" | "late" | "sendErrors";

/** Sum and number of differences between successive round-trip times. */
export type Variation = "variationSeconds" | "variationCount";

export const LINK_COUNTS = [
  "sent",
  "received",
  "lost",
  "late",
  "sendErrors",
  "variationSeconds",
  "variationCount",
] as const satisfies readonly (keyof LinkCounts)[];

/** Loss ratio of decided packets, 0 to 1; null: none. Late answers are no loss, unless all are late. */
export function lossRatioOf({ received, lost, late, sendErrors }: LinkCounts): number | null {
  const answeredLate = received === 0 ? 0 : late;
  // Losses of the first late answers may precede the window.
  const failed = Math.max(0, lost - answeredLate) + sendErrors;
  const decided = received + answeredLate + failed;
  return decided === 0 ? null : failed / decided;
}

export interface FreshPackets {
  /** Lost or unsent, minus late answers; may be negative. */
  readonly failed: number;
  readonly received: number;
}
