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
    expect(pods.noteOf("shop/web-2")).toBeNull();
    pods.add(note(1, 2));
    expect(pods.notes).toEqual([note(1, 2)]);
    pods.expire(SETTLED_MS);
    expect(pods.noteOf(POD)).toEqual(note(1, 2));
    pods.expire(1 + SETTLED_MS);
    expect(pods.noteOf(POD)).toBeNull();
    expect(pods.notes).toEqual([]);
  });

  test("is forgotten before the pods that moved after it", () => {
    const pods = new SettledPods();
    for (let at = 0; at < 1_000; at++) pods.add({ pod: `shop/web-${at}`, atMs: at, afterMs: 1 });
    expect(pods.noteOf("shop/web-0")).toBeNull();
    expect(pods.noteOf("shop/web-999")).not.toBeNull();
    expect(pods.notes.at(0)!.atMs).toBeGreaterThan(100);
  });
});
