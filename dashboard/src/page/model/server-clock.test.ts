import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ServerClock } from "./server-clock.ts";

const YEAR_MS = 365 * 86_400_000;

test("tells the server's time to a second, whatever the browser's clock says and however the server's steps", () => {
  const step = fc.record({
    passedMs: fc.integer({ min: 0, max: 60_000 }),
    jumpMs: fc.integer({ min: -10 * YEAR_MS, max: 10 * YEAR_MS }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      const clock = new ServerClock();
      let [monotonicMs, serverMs] = [0, Date.parse("2026-06-01T00:00:00Z")];
      expect(clock.nowMs(monotonicMs, 7)).toBe(7);
      for (const { passedMs, jumpMs } of steps) {
        monotonicMs += passedMs;
        serverMs += passedMs + (jumpMs % 3 === 0 ? jumpMs : 0);
        clock.heard(new Date(serverMs).toUTCString(), monotonicMs);
        clock.heard(null, monotonicMs);
        expect(Math.abs(clock.nowMs(monotonicMs + 500, 7) - serverMs - 500)).toBeLessThanOrEqual(1_000);
      }
    }),
  );
});
