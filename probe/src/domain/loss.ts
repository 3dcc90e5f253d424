import type { Outcome } from "@isochrone/telemetry";

/**
 * Share of a flow's packets that didn't make it, 0 to 1; null when none was decided. A packet that the own
 * kernel refused to send didn't make it either: a node that can't send has 100 % loss, not "no data".
 */
export function lossRatio(outcomes: Readonly<Record<Outcome, number>>): number | null {
  const failed = outcomes.lost + outcomes.send_error;
  const decided = outcomes.received + failed;
  return decided === 0 ? null : failed / decided;
}
