// Checks moves against pod lifetimes. Rules return null for a true statement, otherwise the truth.
import type { StatedFailure, StatedWay } from "@isochrone/cli/testing";
import type { Verdict } from "./findings.ts";
import type { PodLife, PodLives } from "./pod-lives.ts";

/** Maximum delay of a statement or a poll after the event. */
export const SLACK_MS = 5_000;
/** Maximum delay between the release or eviction of a pod and the report of its move. */
export const TOLD_WITHIN_MS = 180_000;
/** Timeout after which the demo gives up a move. */
const OPEN_MS = 60_000;

/** An announced move without an outcome yet, with its target. */
export interface Announced {
  readonly atMs: number;
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

interface Way {
  readonly workload: string;
  readonly from: string;
  readonly to: string | null;
}

export const waysOf = (ways: readonly StatedWay[]): Way[] =>
  ways.flatMap(({ workloads, from, to }) => workloads.map((workload) => ({ workload, from, to })));

export function countIsTrue(count: number, ways: readonly StatedWay[]): Verdict {
  const named = waysOf(ways).length;
  return named === count ? null : `${named} pods are named`;
}

export function movingIsTrue({ workload, from, to }: Way, atMs: number, lives: PodLives): Verdict {
  if (to === null) return `${workload} has no target`;
  if (to === from) return `${workload} is to stay on ${from}`;
  const there = lives.between(workload, atMs - SLACK_MS, atMs + SLACK_MS);
  if (there.some(({ node }) => node === from)) return null;
  return `${workload} was on ${nodesOf(there)} then, not on ${from}`;
}

export function movedIsTrue(
  { workload, from, to }: Way,
  atMs: number,
  lives: PodLives,
  announced: Announced | null,
): Verdict {
  if (to === null) return `${workload} had no replacement`;
  if (to === from) return `${workload} did not change its node ${from}`;
  const recent = lives.between(workload, atMs - TOLD_WITHIN_MS, atMs + SLACK_MS);
  const left = recent.filter(
    ({ node, endedMs }) => node === from && endedMs !== null && endedMs <= atMs + SLACK_MS,
  );
  if (left.length === 0) return `no pod of ${workload} left ${from}; its pods: ${livesText(recent)}`;
  const arrived = recent.filter(
    ({ node, readyMs }) => node === to && readyMs !== null && readyMs <= atMs + SLACK_MS,
  );
  if (arrived.length === 0) return `no pod of ${workload} was ready on ${to}; its pods: ${livesText(recent)}`;
  if (!left.some((old) => arrived.some(({ sinceMs }) => sinceMs > old.sinceMs)))
    return `the pod of ${workload} on ${to} is the older one; its pods: ${livesText(recent)}`;
  if (announced !== null && announced.to !== to) return `the announced target was ${announced.to}`;
  return null;
}

const IN_TIME_MS = 8_000;

export function failedIsTrue(
  { workload, from, to, target }: StatedFailure,
  atMs: number,
  lives: PodLives,
): Verdict {
  const recent = lives.between(workload, atMs - TOLD_WITHIN_MS, atMs + SLACK_MS);
  if (!recent.some(({ node }) => node === from))
    return `no pod of ${workload} was on ${from}: ${livesText(recent)}`;
  if (to === null) {
    const leftMs = Math.min(...recent.map(({ node, endedMs }) => (node === from ? (endedMs ?? atMs) : atMs)));
    const inTime = recent.filter(
      ({ readyMs }) => readyMs !== null && readyMs > leftMs && readyMs < leftMs + IN_TIME_MS,
    );
    return inTime.length === 0 ? null : `${workload} had a ready pod in time: ${livesText(inTime)}`;
  }
  if (to === target) return `${workload} is on its target ${target}`;
  const isThere = recent.some(
    ({ node, readyMs, endedMs }) =>
      node === to &&
      readyMs !== null &&
      readyMs <= atMs + SLACK_MS &&
      (endedMs === null || endedMs >= atMs - SLACK_MS),
  );
  return isThere ? null : `no pod of ${workload} runs on ${to}: ${livesText(recent)}`;
}

export function stillMovingIsTrue({ workload, to }: Way, atMs: number, lives: PodLives): Verdict {
  const landed = lives
    .between(workload, atMs - 2 * SLACK_MS, atMs)
    .filter(
      ({ node, readyMs, endedMs }) =>
        node === to && readyMs !== null && readyMs < atMs - SLACK_MS && endedMs === null,
    );
  const others = lives.between(workload, atMs - SLACK_MS, atMs).filter(({ node }) => node !== to);
  return landed.length > 0 && others.length === 0 ? `${livesText(landed)} has arrived` : null;
}

export function unanswered(open: readonly Announced[], nowMs: number): Announced[] {
  return open.filter(({ atMs }) => nowMs - atMs > TOLD_WITHIN_MS);
}

/** A move whose pod has just gone may still be in flight. @param told reported moves with times */
export function untold(
  { old, next }: { readonly old: PodLife; readonly next: PodLife },
  told: readonly (Way & { readonly atMs: number })[],
  nowMs: number,
): Verdict {
  const endedMs = old.endedMs!;
  if (old.node === next.node || nowMs - endedMs < OPEN_MS) return null;
  const isTold = told.some(
    ({ workload, from, to, atMs }) =>
      workload === old.workload &&
      from === old.node &&
      (to === null || to === next.node) &&
      Math.abs(atMs - endedMs) <= TOLD_WITHIN_MS,
  );
  return isTold
    ? null
    : `${old.name} left ${old.node}, ${next.name} runs on ${next.node}, and nothing was said`;
}

export function livesText(lives: readonly PodLife[]): string {
  const text = ({ name, node, endedMs }: PodLife): string =>
    `${name} on ${node}${endedMs === null ? "" : " (ended)"}`;
  return lives.map(text).join(", ") || "none";
}

function nodesOf(lives: readonly PodLife[]): string {
  return [...new Set(lives.map(({ node }) => node))].join(", ") || "no node";
}
