import { describe, expect, test } from "vitest";
import { isSlower, SettledPods } from "./settled-pods.ts";

const SETTLED_MS = 30 * 60_000;
const POD = "shop/web-1";
const note = (atMs: number, afterMs: number) => ({ pod: POD, atMs, afterMs });

describe("a pod that was moved", () => {
  test.each([
    [10, 10, false],
    [10, 12.5, false],
    [10, 12.6, true],
    [0.2, 0.7, false],
    [0.2, 0.71, true],
    [10, 2, false],
  ])("with channels of %d ms afterwards and %s ms now: slower is %s", (afterMs, nowMs, slower) => {
    expect(isSlower(note(0, afterMs), nowMs)).toBe(slower);
  });

  test("is noted for a while, by its last move, and no other is", () => {
    const pods = new SettledPods();
    pods.add(note(0, 10));
    expect(pods.noteOf("shop/web-2", 1)).toBeNull();
    pods.add(note(1, 2));
    expect(pods.notes).toHaveLength(1);
    expect(pods.noteOf(POD, SETTLED_MS)).toEqual(note(1, 2));
    expect(pods.noteOf(POD, 1 + SETTLED_MS)).toBeNull();
    expect(pods.notes).toEqual([]);
  });
});
