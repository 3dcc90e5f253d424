// Checks the decisions API, the descheduler's report and its metrics against observed pod lifetimes.
import type { Decision } from "@isochrone/topology";
import type { Verdict } from "./findings.ts";
import { livesText, SLACK_MS } from "./move-rules.ts";
import type { PodLife, PodLives } from "./pod-lives.ts";

/** Outcomes of evictions that are unfinished or did not happen. */
const OPEN = new Set(["evicted", "pending", "in_flight", "would_move", "refused", "released", "started"]);

type StatedDecision = Pick<Decision, "pod" | "best" | "outcome" | "at" | "workload">;

interface Ended {
  readonly old: PodLife;
  readonly others: readonly PodLife[];
  readonly target: string | null;
  readonly node: string | null;
  readonly untilMs: number;
  /** Time at which the last poll read the objects. */
  readonly polledMs: number;
}

/** A poll may see a pod late, so it can miss readiness only if it saw the pod less than twice. */
const wasReady = ({ provenReadyMs, endedMs, sights }: PodLife, untilMs: number): boolean =>
  provenReadyMs === null ? endedMs !== null && sights < 2 : provenReadyMs <= untilMs;

function readyOn(where: string, { others, untilMs, polledMs }: Ended): Verdict {
  const there = others.filter(({ node }) => node === where);
  if (there.some((life) => wasReady(life, untilMs))) return null;
  // The objects are older than the outcome. Judge the statement on the next read.
  if (polledMs < untilMs) return null;
  const what = there.length === 0 ? "on" : "ready on";
  return `no replacement was ${what} ${where}; pods: ${livesText(others)}`;
}

const RESULTS: Readonly<Record<string, (ended: Ended) => Verdict>> = {
  on_target: (ended) => {
    const { old, target } = ended;
    if (target === null) return "a move without a target reached it";
    if (target === old.node) return `the target ${target} is the node that it was on`;
    return readyOn(target, ended);
  },
  elsewhere: (ended) => {
    const { node, target } = ended;
    if (node === target) return `the stated node ${node} is the target`;
    return node === null ? null : readyOn(node, ended);
  },
  withdrawn: ({ old, untilMs }) =>
    old.endedMs === null || old.endedMs > untilMs
      ? null
      : `${old.name} ended, and the move is called withdrawn`,
  lost: ({ others, untilMs }) => {
    const ready = others.filter(({ readyMs }) => readyMs !== null && readyMs < untilMs - 2 * SLACK_MS);
    return ready.length === 0 ? null : `a replacement was ready: ${livesText(ready)}`;
  },
};

export function outcomeIsTrue(
  { pod, best, outcome, at, workload }: StatedDecision,
  lives: PodLives,
): Verdict {
  if (outcome === undefined || OPEN.has(outcome.result)) return null;
  const judge = RESULTS[outcome.result];
  if (judge === undefined) return `"${outcome.result}" is no known outcome`;
  const old = lives.all.find(({ name }) => name === pod.name);
  // The pod ended before the first poll, so its state is unknown.
  if (old === undefined) return null;
  const untilMs = Date.parse(outcome.at) + SLACK_MS;
  const others = lives
    .between(workload ?? old.workload, Date.parse(at) - SLACK_MS, untilMs)
    .filter(({ uid, sinceMs }) => uid !== old.uid && sinceMs > old.sinceMs);
  return judge({ old, others, target: best, node: outcome.node, untilMs, polledMs: lives.polledMs });
}

export interface StatedFlight {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

export function flightIsTrue({ name, from, to }: StatedFlight, lives: PodLives): Verdict {
  if (from === to) return `${name} moves from ${from} to ${to}`;
  const life = lives.all.find((each) => each.name === name);
  return life === undefined || life.node === from ? null : `${name} was on ${life.node}, not on ${from}`;
}

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

export function markIsTrue({ at, workload, from, to }: StatedMark, lives: PodLives): Verdict {
  if (from === to) return `${workload} did not leave ${from}`;
  const atMs = Date.parse(at);
  // Pods of a surge run on two nodes at once.
  const there = lives.between(workload, atMs - 60_000, atMs + 10_000);
  const nodes = new Set(there.map(({ node }) => node));
  return nodes.has(from) && nodes.has(to) ? null : `pods of ${workload}: ${livesText(there)}`;
}
