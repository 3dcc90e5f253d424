import type { Act, Decision } from "@isochrone/topology";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LoggedPlan, LoggedProposal } from "../domain/plan-log.ts";
import { actsOf, matches } from "./acts.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();

const act = (fields: Partial<NonNullable<Decision["act"]>> = {}): NonNullable<Decision["act"]> => {
  return { id: "m-1", pods: 1, gainRatio: 0.5, beforeMs: 10, expectedMs: 5, bytesPerSecond: 1, ...fields };
};
const decision = (id: string, fields: Partial<Decision> = {}): Decision => ({
  id,
  kind: "eviction",
  at: iso(NOW - 5 * MINUTE),
  pod: { namespace: "shop", name: `pod-${id}` },
  workflow: "shop/flow",
  workload: "web",
  strategy: "descheduler",
  mode: "evict",
  inputs: { clusterVersion: null, clusterAgeSeconds: null, workflowVersion: null, workflowAgeSeconds: null },
  explanation: ["Its channels cost less."],
  best: "n2",
  candidates: [],
  binding: bound("n1", "gone"),
  ...fields,
});
const bound = (
  node: string | null,
  state: "bound" | "pending" | "gone" = "bound",
  agreement: NonNullable<Decision["binding"]>["agreement"] = null,
): NonNullable<Decision["binding"]> => ({ node, state, agreement, at: null, cause: null, reason: null });
const outcome = (result: string, node: string | null, afterMs?: number, atMs = NOW - MINUTE) => ({
  at: iso(atMs),
  result,
  node,
  reason: null,
  ...(afterMs === undefined ? {} : { measured: { afterMs } }),
});
const plan = (id: string, pods: readonly string[]): LoggedPlan => ({
  id,
  at: iso(NOW - MINUTE),
  workflow: "shop/flow",
  durationMs: 1,
  cost: null,
  lowerBound: null,
  ended: "converged",
  explanation: [],
  pods: pods.map((name) => ({ name, workload: "web", node: "n1", reason: null, decision: name })),
});
const group = (decisions: readonly Decision[], plans: LoggedPlan[] = [], proposals: LoggedProposal[] = []) =>
  actsOf({ decisions, plans, proposals }, NOW);
const only = (...decisions: Decision[]): Act => {
  const acts = group(decisions);
  expect(acts).toHaveLength(1);
  return acts[0]!;
};

test("each record is in exactly one act, and no act is empty", () => {
  const record = fc.record({
    kind: fc.constantFrom("score", "plan", "eviction" as const),
    group: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
    minute: fc.integer({ min: 0, max: 90 }),
    result: fc.constantFrom(undefined, "on_target", "elsewhere", "withdrawn", "lost"),
    afterMs: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), fc.subarray([0, 1, 2, 3, 4]), (records, known) => {
      const decisions = records.map(({ kind, group: of, minute, result, afterMs }, index) =>
        decision(`d-${index}`, {
          kind: kind as NonNullable<Decision["kind"]>,
          at: iso(NOW - minute * MINUTE),
          ...(kind === "plan" ? { plan: of === null ? null : `p-${of}` } : {}),
          ...(kind === "eviction" && of !== null ? { act: act({ id: `m-${of}` }) } : {}),
          ...(kind === "eviction" && result !== undefined ? { outcome: outcome(result, "n2", afterMs) } : {}),
        }),
      );
      const plans = known.map((each) => plan(`p-${each}`, [`forgotten-${each}`]));
      const acts = group(decisions, plans);
      const seen = acts.flatMap(({ pods }) => pods.map((pod) => pod.decision));
      const all = [...decisions.map(({ id }) => id), ...known.map((each) => `forgotten-${each}`)];
      expect(seen).toHaveLength(all.length);
      expect(new Set(seen)).toEqual(new Set(all));
      expect(new Set(acts.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(acts.length);
      for (const { pods, planned, sentence } of acts) {
        expect(pods.length).toBeGreaterThan(0);
        expect(planned).toBeGreaterThanOrEqual(pods.length);
        expect(sentence).toMatch(/^[A-Z].*\.$/);
      }
      const times = acts.map(({ at }) => Date.parse(at));
      expect(times).toEqual(times.toSorted((a, b) => b - a));
      const moves = decisions.filter(({ act: made }) => made !== undefined);
      for (const [id, members] of Map.groupBy(moves, (each) => each.act!.id))
        expect(acts.find((each) => each.id === id)!.pods).toHaveLength(members.length);
    }),
  );
});

describe("the verdict of a move", () => {
  test.each([
    [{}, "waiting", "Not judged yet: 0 of 1 pod moved."],
    [
      { outcome: outcome("on_target", "n2") },
      "waiting",
      "Not judged yet: its channels are still to be measured again.",
    ],
    [{ outcome: outcome("on_target", "n2", 5) }, "kept", "Kept."],
    [{ outcome: outcome("on_target", "n2", 5.4) }, "kept", "Kept."],
    [{ outcome: outcome("on_target", "n2", 8) }, "missed", "Missed by 3.0 ms."],
    [{ outcome: outcome("on_target", "n2", 12) }, "missed", "Missed by 7.0 ms, slower than before."],
    [{ outcome: outcome("elsewhere", "n3") }, "failed", "Failed: landed elsewhere, on n3 instead of n2."],
    [{ outcome: outcome("withdrawn", null) }, "failed", "Failed: stays on n1."],
    [{ outcome: outcome("lost", null) }, "failed", "Failed: no ready replacement."],
    [
      { outcome: outcome("on_target", "n2", undefined, NOW - 40 * MINUTE) },
      "not_judged",
      "Not judged: its channels couldn't be measured again.",
    ],
  ] as const)("%j is %s", (fields, verdict, sentence) => {
    expect(only(decision("m-1", { act: act(), ...fields }))).toMatchObject({ verdict, sentence });
  });

  test("of a group is judged by all its pods together, weighted by their traffic", () => {
    const of = (id: string, beforeMs: number, bytesPerSecond: number, afterMs?: number): Decision =>
      decision(id, {
        act: act({ pods: 2, expectedMs: null, gainRatio: 0.5, beforeMs, bytesPerSecond }),
        outcome: outcome("on_target", "n2", afterMs),
      });
    expect(only(of("m-1", 40, 3, 16), of("m-2", 20, 1, 20))).toMatchObject({
      kind: "move",
      counted: { beforeMs: 35, afterMs: 17, pods: 2 },
      expected: { gainRatio: 0.5, afterMs: null },
      verdict: "kept",
    });
    expect(only(of("m-1", 40, 3, 16), of("m-2", 20, 1)).sentence).toContain("the channels of 1 pod are");
  });

  test("by scores promises nothing", () => {
    const made = decision("m-1", { strategy: "paper", outcome: outcome("elsewhere", "n3") });
    expect(only(made).sentence).toBe("Not judged: no gain was promised.");
  });
});

test.each([
  [bound("n2", "bound", "as_chosen"), "kept"],
  [bound("n2", "bound", "tie"), "kept"],
  [bound("n3", "bound", "otherwise"), "failed"],
  [bound(null, "pending"), "waiting"],
  [undefined, "not_judged"],
] as const)("a placement with %j is %s", (binding, verdict) => {
  const { binding: _, ...rest } = decision("s-1", { kind: "score" });
  const made = only({ ...rest, ...(binding === undefined ? {} : { binding }) });
  expect(made).toMatchObject({ kind: "placement", verdict, expected: null, counted: null });
});

test("a score of a planned pod belongs to its plan, which chose the node", () => {
  const pod = { namespace: "shop", name: "web-1" };
  const on = (node: string, agreement: "as_chosen" | "otherwise") => ({
    pod,
    binding: bound(node, "bound", agreement),
  });
  const planned = decision("p", { kind: "plan", plan: "plan-1", ...on("n2", "as_chosen") });
  const scored = decision("s", { kind: "score", best: "n3", ...on("n2", "otherwise") });
  const other = decision("o", { kind: "score", pod: { namespace: "other", name: "web-1" } });
  const acts = group([scored, planned, other], [plan("plan-1", ["p"])]);
  expect(acts.map(({ kind, verdict, pods }) => [kind, verdict, pods.length])).toEqual([
    ["plan", "kept", 1],
    ["placement", "not_judged", 1],
  ]);
  const admitted = decision("p", { kind: "plan", plan: null, ...on("n2", "as_chosen") });
  expect(only(scored, admitted)).toMatchObject({ kind: "placement", verdict: "kept", planned: 1 });
});

test("a proposal moves nothing, and its error is that of the saved share", () => {
  const cost = { network: 1, pressure: 0, total: 1 };
  const { cost: _, pods: __, ...shared } = plan("q", []);
  const pods = [null, "no room"].map((obstacle, index) => {
    const gain = { gain: 1, gainError: 0, step: 1, reason: null, decision: null };
    return { ...gain, name: `web-${index}`, workload: "web", from: "n1", node: "n2", obstacle };
  });
  const perRequest = { todayMs: 9, bestMs: 5, errorMs: 1 };
  const figures = { today: cost, cost, savedRatio: 0.4, gain: 10, gainError: 1, perRequest };
  const [proposed] = group([], [], [{ ...shared, ...figures, pods }]);
  expect(proposed).toMatchObject({
    verdict: "nothing_moved",
    sentence: "Nothing was moved: it is a proposal.",
    expected: { beforeMs: null, gainRatio: 0.4, gainErrorRatio: expect.closeTo(0.04, 9) },
  });
  expect(proposed!.pods.map(({ node }) => node)).toEqual(["n1", "n1"]);
});

test("filters select by namespace, workload or pod, kind and time", () => {
  const made = only(decision("m-1"));
  const atMs = Date.parse(made.at);
  const isShown = (filter: Parameters<typeof matches>[1]): boolean => matches(made, filter);
  expect(
    [{}, { namespace: "shop" }, { workload: "we" }, { workload: "pod-m" }, { kind: "move" as const }].map(
      isShown,
    ),
  ).toEqual([true, true, true, true, true]);
  expect([{ sinceMs: atMs }, { untilMs: atMs }].map(isShown)).toEqual([true, true]);
  expect(
    [
      { namespace: "sho" },
      { workload: "db" },
      { kind: "plan" as const },
      { sinceMs: atMs + 1 },
      { untilMs: atMs - 1 },
    ].map(isShown),
  ).toEqual([false, false, false, false, false]);
});
