import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { outcomeIsTrue } from "../harness/audit/api-rules.ts";
import { auditedPod as pod } from "../harness/audit/audited-pod.ts";
import { PodLives } from "../harness/audit/pod-lives.ts";

const T0 = Date.parse("2026-01-01T00:00:00Z");
/** m1-5f-a leaves n1 for n2 at 10 s. */
const DECISION = {
  pod: { namespace: "default", name: "m1-5f-a" },
  workload: "m1",
  best: "n2",
  at: new Date(T0 + 10_000).toISOString(),
  outcome: { at: new Date(T0 + 15_000).toISOString(), result: "on_target", node: "n2", reason: null },
};

describe("on target means that the replacement was ready there:", () => {
  type Sight = readonly [atMs: number, pods: readonly KubernetesObject[]];
  const verdictOf = (...sights: readonly Sight[]): string | null => {
    const lives = new PodLives();
    lives.take([pod("m1-5f-a", "n1")], T0);
    lives.take([pod("m1-5f-a", "n1", { terminating: true })], T0 + 10_000);
    for (const [atMs, pods] of sights) lives.take(pods, T0 + atMs);
    return outcomeIsTrue(DECISION, lives);
  };
  const next = (more: Parameters<typeof pod>[2] = {}): KubernetesObject[] => [pod("m1-5f-b", "n2", more)];
  const unready = (changedMs?: number): KubernetesObject[] =>
    next({ ready: false, ...(changedMs === undefined ? {} : { changedMs: T0 + changedMs }) });
  const LATE = 30_000;

  test("as a poll saw it", () =>
    expect(verdictOf([12_000, unready()], [14_000, next()], [LATE, next()])).toBeNull());
  test("as its conditions say to a poll that came late", () => {
    const ready = next({ changedMs: T0 + 14_000 });
    expect(verdictOf([12_000, unready()], [LATE, ready])).toBeNull();
    const tooLate = next({ changedMs: T0 + LATE - 1_000 });
    expect(verdictOf([12_000, unready()], [LATE, tooLate])).toMatch(/ready on n2/);
  });
  test("as its conditions show of readiness that came and went between two polls", () => {
    const gone = next({ ready: false, terminating: true, changedMs: T0 + 14_500 });
    expect(verdictOf([12_000, unready(11_000)], [13_000, unready(11_000)], [LATE, gone])).toBeNull();
  });
  test("or it lived too short for polls to see", () => {
    expect(verdictOf([14_000, unready()], [LATE, []])).toBeNull();
    expect(verdictOf([14_000, next({ ready: false, terminating: true })], [LATE, []])).toBeNull();
  });
  test("false of a pod that polls saw only unready", () => {
    const steady = unready(11_000);
    const ended = next({ ready: false, terminating: true, changedMs: T0 + 11_000 });
    for (const last of [steady, ended, []])
      expect(verdictOf([12_000, steady], [14_000, steady], [LATE, last])).toMatch(/ready on n2/);
    expect(verdictOf([12_000, unready()], [14_000, unready()], [LATE, unready()])).toMatch(/ready on n2/);
  });
  test("false of a pod that is ready on another node", () => {
    const other = [pod("m1-5f-b", "n3")];
    expect(verdictOf([12_000, other], [LATE, other])).toMatch(/no replacement was on n2/);
  });
  test("judged once objects were read after the outcome", () => {
    const early = [
      [11_000, unready()],
      [12_000, unready()],
    ] as const;
    expect(verdictOf(...early)).toBeNull();
    expect(verdictOf(...early, [LATE, unready()])).toMatch(/ready on n2/);
  });
});
