import { describe, expect, test } from "vitest";
import { isEffective, judged, nextCoolDown, NO_REGRET, proposalEnded, regretOf } from "./regret.ts";
import type { FailedMove, JudgedMove, RegretState } from "./regret.ts";

const RULES = { maxRegret: 0.5, minJudged: 3, maxJudged: 5, pauseMs: 1_000 };
const move = (afterMs: number, bytesPerSecond = 1): JudgedMove => ({
  atMs: 0,
  beforeMs: 20,
  expectedMs: 10,
  afterMs,
  bytesPerSecond,
});
const failed: FailedMove = { atMs: 0, workflow: "shop/flow", failure: "shop/web-1 went to n3, not to n2" };
const after = (state: RegretState, ...moves: readonly JudgedMove[]): RegretState =>
  moves.reduce((before, one) => judged(before, one, RULES, 0), state);

describe("regret", () => {
  test.each([
    [[move(10)], 0],
    [[move(5)], 0],
    [[move(15)], 0.5],
    [[move(20)], 1],
    [[move(30)], 2],
    [[move(10, 3), move(20, 1)], 0.25],
    [[], 0],
    [[failed], 1],
    [[failed, failed], 1],
    [[failed, move(10)], 0.5],
    [[failed, move(10), move(10), move(10)], 0.25],
    [[failed, move(30)], 1.5],
  ])("of %j is %d", (moves, regret) => {
    expect(regretOf(moves)).toBeCloseTo(regret, 12);
  });

  test("stops after enough moves in vain, for longer each time, until a move is good again", () => {
    const two = after(NO_REGRET, move(20), move(20));
    expect(two.stoppedUntilMs).toBe(0);
    const stopped = after(two, move(20));
    expect(stopped).toMatchObject({ judged: [], stoppedUntilMs: 1_000, stops: 1 });
    expect(stopped.stoppedBy!.reason).toBe("regret");
    expect(after(stopped, move(20), move(20), move(20)).stoppedUntilMs).toBe(2_000);
    expect(after(stopped, move(10), move(30), move(30)).stoppedUntilMs).toBe(1_000);
  });

  test("failed moves stop it as moves in vain do", () => {
    expect(after(NO_REGRET, failed, failed).stoppedUntilMs).toBe(0);
    expect(after(NO_REGRET, failed, failed, failed).stoppedBy).toMatchObject({
      reason: "regret",
      detail: expect.stringContaining("of the last 3 moves 3 failed"),
    });
    expect(isEffective(failed)).toBe(false);
  });

  test("two failed proposals in a row stop it, for longer each time; a good one in between doesn't", () => {
    const ends = (state: RegretState, ...outcomes: readonly (FailedMove | null)[]): RegretState =>
      outcomes.reduce((before, one) => proposalEnded(before, one, RULES, 0), state);
    expect(ends(NO_REGRET, failed, null, failed, null).stoppedBy).toBeNull();
    const stopped = ends(NO_REGRET, failed, failed);
    expect(stopped).toMatchObject({ failedProposals: 0, stoppedUntilMs: 1_000, stops: 1 });
    expect(stopped.stoppedBy).toMatchObject({
      reason: "failed_moves",
      detail: expect.stringContaining("shop/web-1 went to n3, not to n2"),
    });
    expect(ends(stopped, failed, failed).stoppedUntilMs).toBe(2_000);
  });

  test("goes on while most of the gain comes", () => {
    expect(after(NO_REGRET, move(10), move(20), move(10), move(10)).stoppedUntilMs).toBe(0);
  });

  test("forgets old moves", () => {
    const good = Array.from({ length: 20 }, () => move(10));
    expect(after(NO_REGRET, ...good, move(20), move(20), move(20)).stops).toBe(1);
  });

  test("a move in vain makes its workload rest twice as long, up to a limit", () => {
    const rules = { coolDownMs: 100, maxCoolDownMs: 300 };
    expect(isEffective(move(15))).toBe(true);
    expect(isEffective(move(16))).toBe(false);
    expect(nextCoolDown(move(16), 100, rules)).toBe(200);
    expect(nextCoolDown(move(16), 200, rules)).toBe(300);
    expect(nextCoolDown(move(10), 300, rules)).toBe(100);
  });
});
