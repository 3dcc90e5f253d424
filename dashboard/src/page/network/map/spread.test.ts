import { describe, expect, test } from "vitest";
import { around, spread, within } from "./spread.ts";

function seededRandom(seed: number): { next(): number } {
  let state = seed;
  return {
    next: () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    },
  };
}

const size = { width: 640, height: 420 };

describe("circles that are moved apart", () => {
  test("don't cover each other, stay in the frame, and stay put where there is room", () => {
    const random = seededRandom(11);
    for (let run = 0; run < 60; run++) {
      const count = 1 + Math.floor(random.next() * 40);
      const radius = Math.min(34, Math.sqrt((0.35 * size.width * size.height) / count / Math.PI));
      const places = 1 + Math.floor(random.next() * 4);
      const circles = Array.from({ length: count }, (_, index) => ({
        x: ((index % places) + 0.5) * (size.width / places) + random.next(),
        y: 200 + random.next(),
        radius: radius * (0.4 + 0.6 * random.next()),
      }));
      const apart = spread(circles, within(size));
      expect(apart).toEqual(spread(circles, within(size)));
      for (const [index, a] of apart.entries()) {
        expect(a.x - a.radius >= -0.01 && a.x + a.radius <= size.width + 0.01).toBe(true);
        expect(a.y - a.radius >= -0.01 && a.y + a.radius <= size.height + 0.01).toBe(true);
        for (const b of apart.slice(index + 1))
          expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(a.radius + b.radius - 1);
      }
    }
    const free = [
      { x: 50, y: 50, radius: 9 },
      { x: 300, y: 300, radius: 9 },
    ];
    expect(spread(free, within(size))).toEqual(free);
  });

  test("keep their distance from the middle where that is a round trip", () => {
    const middle = { x: 300, y: 200 };
    const circles = Array.from({ length: 6 }, () => ({ x: 420, y: 200, radius: 20 }));
    for (const { x, y } of spread(circles, around(middle)))
      expect(Math.hypot(x - middle.x, y - middle.y)).toBeCloseTo(120, 5);
  });
});
