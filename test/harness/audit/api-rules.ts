// Statements of the decisions API, the descheduler's report and its metrics, held against the lives of pods.
import type { Decision } from "@isochrone/topology";
import type { Verdict } from "./findings.ts";
import { livesText, SLACK_MS } from "./move-rules.ts";
import type { PodLives } from "./pod-lives.ts";

/** Results of an eviction that say that the pod runs where it was decided. */
const ON_TARGET = new Set(["on_target", "landed", "redeemed"]);
const ELSEWHERE = new Set(["elsewhere"]);
const WITHDRAWN = new Set(["withdrawn"]);
const LOST = new Set(["lost"]);
/** Words about an eviction that isn't over, or wasn't made. */
const OPEN = new Set(["evicted", "pending", "in_flight", "would_move", "refused", "released", "started"]);

type StatedDecision = Pick<Decision, "pod" | "best" | "outcome" | "at" | "workload">;

/** An eviction's outcome is what became of its pod and of the replacement. */
export function outcomeIsTrue(
  { pod, best, outcome, at, workload }: StatedDecision,
  lives: PodLives,
): Verdict {
  if (outcome === undefined) return null;
  const { result, node } = outcome;
  const [sinceMs, untilMs] = [Date.parse(at), Date.parse(outcome.at) + SLACK_MS];
  const old = lives.all.find(({ name }) => name === pod.name);
  // Gone before the first poll: nothing is known of it.
  if (old === undefined) return null;
  const others = lives
    .between(workload ?? old.workload, sinceMs - SLACK_MS, untilMs)
    .filter(({ uid, sinceMs: from }) => uid !== old.uid && from > old.sinceMs);
  const isOn = (where: string | null): boolean =>
    others.some(({ node: on, readyMs }) => on === where && readyMs !== null);
  if (ON_TARGET.has(result)) {
    if (best === old.node) return `the target ${best} is the node that it was on`;
    return isOn(best) ? null : `no replacement was ready on the target ${best}; pods: ${livesText(others)}`;
  }
  if (ELSEWHERE.has(result)) {
    if (node === best) return `the stated node ${node} is the target`;
    return node === null || isOn(node)
      ? null
      : `no replacement was ready on ${node}; pods: ${livesText(others)}`;
  }
  if (WITHDRAWN.has(result))
    return old.endedMs === null || old.endedMs > untilMs
      ? null
      : `${old.name} ended, and the move is called withdrawn`;
  if (LOST.has(result))
    return others.some(({ readyMs }) => readyMs !== null && readyMs < untilMs - 2 * SLACK_MS)
      ? `a replacement was ready: ${livesText(others)}`
      : null;
  if (OPEN.has(result)) return null;
  return `"${result}" is no known outcome`;
}

export interface StatedFlight {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** A move under way leads to another node, and its pod was where it is said to come from. */
export function flightIsTrue({ name, from, to }: StatedFlight, lives: PodLives): Verdict {
  if (from === to) return `${name} moves from ${from} to ${to}`;
  const life = lives.all.find((each) => each.name === name);
  return life === undefined || life.node === from ? null : `${name} was on ${life.node}, not on ${from}`;
}

/** Moves that are counted as on target are at most as many as pods that changed their node. */
export function countedMovesAreTrue(onTarget: number, lives: PodLives): Verdict {
  const changed = lives.replacements().filter(({ old, next }) => old.node !== next.node).length;
  return onTarget <= changed
    ? null
    : `${onTarget} moves are counted as on target, ${changed} pods changed their node`;
}

interface StatedMark {
  readonly at: string;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

/** A mark of the time line shows a pod's change of node. */
export function markIsTrue({ at, workload, from, to }: StatedMark, lives: PodLives): Verdict {
  if (from === to) return `${workload} did not leave ${from}`;
  const atMs = Date.parse(at);
  // Pods of a surplus are on two nodes at once.
  const there = lives.between(workload, atMs - 60_000, atMs + 10_000);
  const nodes = new Set(there.map(({ node }) => node));
  return nodes.has(from) && nodes.has(to) ? null : `pods of ${workload}: ${livesText(there)}`;
}
