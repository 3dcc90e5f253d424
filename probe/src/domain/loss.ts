import type { Outcome } from "@isochrone/telemetry";

/**
 * Share of a flow's packets that got no valid answer, 0 to 1; null if no packet was decided. Includes packets
 * that the own kernel refused to send: a node that cannot send has 100 % loss, not "no data".
 */
export function lossRatio(outcomes: Readonly<Record<Outcome, number>>): number | null {
  const failed = outcomes.lost + outcomes.send_error;
  const decided = outcomes.received + failed;
  return decided === 0 ? null : failed / decided;
}
