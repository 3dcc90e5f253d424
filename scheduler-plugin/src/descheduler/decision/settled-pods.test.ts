import { describe, expect, test } from "vitest";
import { SettledPods } from "./settled-pods.ts";

const SETTLED_MS = 30 * 60_000;
const settledAt = (afterMs: number): SettledPods => {
  const pods = new SettledPods();
  pods.add({ pod: "shop/web-1", atMs: 0, afterMs });
  return pods;
};

describe("a pod that was moved", () => {
  test.each([
    [10, 10, true],
    [10, 11, true],
    [10, 11.1, false],
    [0.2, 0.3, true],
    [0.2, 0.31, false],
    [10, 2, true],
    [10, null, false],
  ])("with channels of %d ms afterwards and %s ms now stays: %s", (afterMs, nowMs, stays) => {
    expect(settledAt(afterMs).reasonToStay("shop/web-1", nowMs, 1) !== null).toBe(stays);
  });

  test("may move for any reason after a while, and others always", () => {
    const pods = settledAt(10);
    expect(pods.reasonToStay("shop/web-2", 10, 1)).toBeNull();
    expect(pods.reasonToStay("shop/web-1", 10, SETTLED_MS)).toBeNull();
    expect(pods.notes).toEqual([]);
  });

  test("is judged by its last move", () => {
    const pods = settledAt(10);
    pods.add({ pod: "shop/web-1", atMs: 1, afterMs: 2 });
    expect(pods.notes).toHaveLength(1);
    expect(pods.reasonToStay("shop/web-1", 5, 2)).toBeNull();
  });
});
