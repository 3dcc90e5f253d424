import { peersOf } from "./neighbours.ts";
import type { PlacementProblem } from "./problem.ts";

interface Votes {
  within: number;
  beyond: number;
  worstMs: number;
}

/**
 * Candidates that break a declared `maxNetworkCost`, with the words to tell the user. A channel is broken when more of its placed
 * replicas would be beyond the limit than within it (a single far replica doesn't veto); unreachable is beyond, unknown has no vote.
 */
export function networkLimitViolations(problem: PlacementProblem): Map<string, string> {
  const violations = new Map<string, string>();
  const cluster = problem.cluster.graph;
  const workflow = problem.workflow.graph;
  if (cluster === null || workflow === null) return violations;
  const peers = [...peersOf(problem.pod, workflow, problem.assumed ?? [])].filter(
    ({ channel }) => channel.maxNetworkCost !== null,
  );
  if (peers.length === 0) return violations;
  for (const candidate of problem.candidates) {
    const byChannel = new Map<(typeof peers)[number]["channel"], Votes>();
    for (const { channel, node } of peers) {
      const cost = candidate === node ? 0 : reach(cluster.cost(candidate, node));
      if (cost === null) continue;
      const votes = byChannel.get(channel) ?? { within: 0, beyond: 0, worstMs: 0 };
      byChannel.set(channel, votes);
      if (cost <= channel.maxNetworkCost!) votes.within++;
      else votes.beyond++;
      votes.worstMs = Math.max(votes.worstMs, cost);
    }
    for (const [channel, votes] of byChannel) {
      if (votes.beyond <= votes.within) continue;
      const cost = votes.worstMs === Infinity ? "unreachable" : votes.worstMs.toFixed(3);
      violations.set(
        candidate,
        `maxNetworkCost of channel ${channel.source} -> ${channel.target} is ${channel.maxNetworkCost}, ` +
          `the network cost from ${candidate} is ${cost} (${votes.beyond} of ${votes.beyond + votes.within} replicas beyond it)`,
      );
      break;
    }
  }
  return violations;
}

/** null without a vote. */
function reach(cost: { known: true; ms: number } | { known: false; reason: string }): number | null {
  if (cost.known) return cost.ms;
  return cost.reason === "unreachable" ? Infinity : null;
}
