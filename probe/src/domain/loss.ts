import type { Outcome } from "@isochrone/telemetry";

/**
 * Share of a flow's packets that got no valid answer, 0 to 1; null if no packet was decided. Includes packets
 * that the own kernel refused to send: a node that cannot send has 100 % loss, not "no data". A late answer
 * cancels a loss, unless no packet is answered in time.
 */
export function lossRatio(outcomes: Readonly<Record<Outcome, number>>): number | null {
  const late = outcomes.received === 0 ? 0 : outcomes.late;
  const failed = Math.max(0, outcomes.lost - late) + outcomes.send_error;
  const decided = outcomes.received + late + failed;
  return decided === 0 ? null : failed / decided;
}
