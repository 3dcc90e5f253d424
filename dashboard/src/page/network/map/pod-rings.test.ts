import { describe, expect, test } from "vitest";
import { MOST_RINGS, POD, reachOf, ringsOf, ringsThatFit } from "./pod-rings.ts";

describe("pods around a node", () => {
  test("never touch each other or the node, all count, and none is outside of the reach", () => {
    for (let rings = 1; rings <= MOST_RINGS; rings++)
      for (let pods = 0; pods <= 130; pods++) {
        const { slots, more } = ringsOf(pods, rings);
        expect(slots.length + (more?.count ?? 0)).toBe(pods);
        expect(more?.count).not.toBe(1);
        const all = more === null ? slots : [...slots, more];
        for (const [index, a] of all.entries()) {
          const distance = Math.hypot(a.x, a.y);
          expect(distance).toBeGreaterThan(6 + POD / Math.SQRT2);
          expect(distance + POD / Math.SQRT2).toBeLessThanOrEqual(reachOf(pods, rings));
          for (const b of all.slice(index + 1))
            expect(Math.abs(a.x - b.x) < POD && Math.abs(a.y - b.y) < POD).toBe(false);
        }
      }
  });

  test("get fewer rings where there is less room", () => {
    const pods = [40, 40, 40, 40];
    expect(ringsThatFit(pods, { width: 1000, height: 600 })).toBe(3);
    expect(ringsThatFit(pods, { width: 300, height: 240 })).toBeLessThan(3);
    expect(ringsThatFit(Array(200).fill(9), { width: 300, height: 240 })).toBe(1);
  });
});
