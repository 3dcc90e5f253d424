import { describe, expect, it } from "vitest";
import type { Target } from "./ports/ports.ts";
import { ScrapePlan } from "./scrape-plan.ts";

const INTERVAL_MS = 10_000;
const target = (instance: string, more: Partial<Target> = {}): Target => ({
  kind: "istio",
  url: `http://${instance}`,
  instance,
  ...more,
});
const planOf = (options: { maxBackoffRounds?: number; maxTargets?: number } = {}): ScrapePlan =>
  new ScrapePlan({
    intervalMs: INTERVAL_MS,
    maxBackoffRounds: 6,
    maxTargets: 100,
    random: { next: () => 0 },
    ...options,
  });

function roundsOf(
  plan: ScrapePlan,
  subject: Target,
  rounds: number,
  ok: (round: number) => boolean,
): number[] {
  const read: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const nowMs = round * INTERVAL_MS;
    if (!plan.round([subject], nowMs).due.includes(subject)) continue;
    read.push(round);
    plan.ended(subject, nowMs, ok(round) ? "whole" : "failed");
  }
  return read;
}

describe("ScrapePlan", () => {
  it("reads every target in every round", () => {
    expect(roundsOf(planOf(), target("a"), 5, () => true)).toEqual([0, 1, 2, 3, 4]);
  });

  it("tries a failing target once more at once, then ever less often, up to the bound", () => {
    expect(roundsOf(planOf(), target("a"), 26, () => false)).toEqual([0, 1, 3, 7, 13, 19, 25]);
  });

  it("reads it in every round again after one success", () => {
    const plan = planOf();
    expect(roundsOf(plan, target("a"), 12, (round) => round >= 7)).toEqual([0, 1, 3, 7, 8, 9, 10, 11]);
  });

  it("counts what is put off, but not what simply isn't due", () => {
    const plan = planOf();
    const early = target("early");
    const broken = target("broken");
    plan.round([early, broken], 0);
    plan.ended(early, INTERVAL_MS - 1, "whole");
    for (const nowMs of [0, 1]) plan.ended(broken, nowMs, "failed");
    expect(plan.round([early, broken], INTERVAL_MS)).toEqual({
      due: [],
      skipped: [{ target: broken, reason: "backoff" }],
    });
  });

  it("comes back in a round that is a little early", () => {
    const plan = planOf();
    const subject = target("a");
    plan.round([subject], 0);
    plan.ended(subject, 40, "whole");
    expect(plan.round([subject], INTERVAL_MS).due).toEqual([subject]);
  });

  it("puts pages that failed last, and those first that waited longest", () => {
    const plan = planOf();
    const [failed, recent, old, fresh] = ["failed", "recent", "old", "fresh"].map((name) => target(name)) as [
      Target,
      Target,
      Target,
      Target,
    ];
    plan.round([failed, recent, old], 0);
    plan.ended(failed, 0, "failed");
    plan.ended(recent, 500, "whole");
    plan.ended(old, 100, "whole");
    expect(plan.round([failed, recent, old, fresh], INTERVAL_MS).due).toEqual([fresh, old, recent, failed]);
  });

  it.each(["failed", "incomplete"] as const)(
    "reads a page that stands in only after the other was %s three times running",
    (bad) => {
      const plan = planOf({ maxBackoffRounds: 1 });
      const first = target("first");
      const standIn = target("stand-in", { standsInFor: "first" });
      const due: string[] = [];
      for (const [round, ok] of [true, false, false, true, false, false, false, false, true].entries()) {
        const nowMs = round * INTERVAL_MS;
        const names = plan.round([first, standIn], nowMs).due.map(({ instance }) => instance);
        due.push(names.join("+"));
        plan.ended(first, nowMs, ok ? "whole" : bad);
        if (names.includes("stand-in")) plan.ended(standIn, nowMs, "whole");
      }
      expect(due.map((names) => names.includes("stand-in"))).toEqual([
        ...Array<boolean>(7).fill(false),
        true,
        true,
      ]);
      expect(plan.round([first, standIn], 9 * INTERVAL_MS).due).toEqual([first]);
    },
  );

  it("reads a page that lacks something on, and knows it for up", () => {
    const plan = planOf();
    const subject = target("a");
    plan.round([subject], 0);
    for (let round = 0; round < 9; round++) plan.ended(subject, round * INTERVAL_MS, "incomplete");
    expect([plan.isUp(subject), plan.isIncomplete(subject)]).toEqual([true, true]);
    expect(plan.round([subject], 9 * INTERVAL_MS).due).toEqual([subject]);
    plan.ended(subject, 9 * INTERVAL_MS, "whole");
    expect(plan.isIncomplete(subject)).toBe(false);
  });

  it("reads no more targets than allowed, and none twice", () => {
    const plan = planOf({ maxTargets: 2 });
    const [a, b, c] = [target("a"), target("b"), target("c")];
    expect(plan.round([a, target("a"), b, c], 0)).toEqual({
      due: [a, b],
      skipped: [
        { target: a, reason: "duplicate" },
        { target: c, reason: "too_many_targets" },
      ],
    });
  });

  it("forgets a target that has gone: one that comes back is new", () => {
    const plan = planOf();
    const subject = target("a");
    roundsOf(plan, subject, 4, () => false);
    expect(plan.isUp(subject)).toBe(false);
    plan.round([], 40_000);
    expect(plan.isUp(subject)).toBeNull();
    expect(plan.round([subject], 40_001).due).toEqual([subject]);
  });
});
