import type { Channel, ClusterGraph, Cost } from "@isochrone/topology";
import { peersOf } from "./neighbours.ts";
import type { Peer } from "./neighbours.ts";
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
    for (const [channel, votes] of votesOn(candidate, peers, cluster)) {
      if (votes.beyond <= votes.within) continue;
      const direction = channel.source === problem.pod.workload ? "from" : "to";
      violations.set(candidate, violation(candidate, channel, votes, direction));
      break;
    }
  }
  return violations;
}

function votesOn(candidate: string, peers: readonly Peer[], cluster: ClusterGraph): Map<Channel, Votes> {
  const byChannel = new Map<Channel, Votes>();
  for (const { channel, calling, node } of peers) {
    const cost = candidate === node ? 0 : reachMs(cluster, candidate, node, calling);
    if (cost === null) continue;
    const votes = byChannel.get(channel) ?? { within: 0, beyond: 0, worstMs: 0 };
    byChannel.set(channel, votes);
    if (cost <= channel.maxNetworkCost!) votes.within++;
    else votes.beyond++;
    votes.worstMs = Math.max(votes.worstMs, cost);
  }
  return byChannel;
}

function violation(candidate: string, channel: Channel, votes: Votes, direction: "from" | "to"): string {
  const cost = votes.worstMs === Infinity ? "unreachable" : votes.worstMs.toFixed(3);
  return (
    `maxNetworkCost of channel ${channel.source} -> ${channel.target} is ${channel.maxNetworkCost}, ` +
    `the network cost ${direction} ${candidate} is ${cost} (${votes.beyond} of ${votes.beyond + votes.within} replicas beyond it)`
  );
}

/** In the direction in which the exchange is started, or, when that isn't known, the other. null without a vote. */
function reachMs(cluster: ClusterGraph, candidate: string, peer: string, calling: boolean): number | null {
  const there = calling ? null : voteMs(cluster.cost(peer, candidate));
  return there ?? voteMs(cluster.cost(candidate, peer));
}

function voteMs(cost: Cost): number | null {
  if (cost.known) return cost.ms;
  return cost.reason === "unreachable" ? Infinity : null;
}
