import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { ServerClock } from "./server-clock.ts";

const YEARS_MS = 10 * 365 * 86_400_000;

test("tells the server's time to a second, whatever the browser's clock says and the server's does", () => {
  const draw = seeded(1);
  for (let round = 0; round < 200; round++) {
    const clock = new ServerClock();
    let [monotonicMs, serverMs] = [0, Date.parse("2026-06-01T00:00:00Z")];
    expect(clock.nowMs(monotonicMs, 7)).toBe(7);
    for (let step = 0; step < 20; step++) {
      const passedMs = Math.floor(draw() * 60_000);
      monotonicMs += passedMs;
      serverMs += passedMs + (draw() < 0.3 ? Math.round((2 * draw() - 1) * YEARS_MS) : 0);
      clock.heard(new Date(serverMs).toUTCString(), monotonicMs);
      clock.heard(null, monotonicMs);
      const told = clock.nowMs(monotonicMs + 500, 7);
      expect(Math.abs(told - serverMs - 500)).toBeLessThanOrEqual(1_000);
    }
  }
});
