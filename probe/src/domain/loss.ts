import type { Outcome } from "@isochrone/telemetry";

/**
 * Share of a flow's packets that didn't make it, 0 to 1; null when none was decided. A packet that the own
 * kernel refused to send didn't make it either: a node that can't send has 100 % loss, not "no data". A late
 * answer takes a loss back, unless nothing is answered in time.
 */
export function lossRatio(outcomes: Readonly<Record<Outcome, number>>): number | null {
  const late = outcomes.received === 0 ? 0 : outcomes.late;
  const failed = Math.max(0, outcomes.lost - late) + outcomes.send_error;
  const decided = outcomes.received + late + failed;
  return decided === 0 ? null : failed / decided;
}
