import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CounterTracks, spreadOverPanes } from "./counters.ts";
import type { Increment } from "./counters.ts";

function last(...samples: (readonly [startMs: number, timeMs: number, value: number])[]): Increment | null {
  const tracks = new CounterTracks();
  const track = tracks.take();
  let increment: Increment | null = null;
  for (const sample of samples) increment = tracks.observe(track, ...sample);
  return increment;
}

describe("CounterTracks", () => {
  it("takes a first sample of unknown start as a baseline", () => {
    expect(last([0, 1_000, 50])).toBeNull();
  });

  it("counts a first sample of known start from there", () => {
    expect(last([400, 1_000, 50])).toEqual({ fromMs: 400, toMs: 1_000, delta: 50, reset: false });
  });

  it("takes a first sample that began at its own time as a baseline", () => {
    expect(last([1_000, 1_000, 50])).toBeNull();
  });

  it("takes a first sample that began too long ago as a baseline when told to", () => {
    const first = (maxFirstSpanMs: number): Increment | null => {
      const tracks = new CounterTracks({ maxFirstSpanMs });
      return tracks.observe(tracks.take(), 400, 1_000, 50);
    };
    expect(first(500)).toBeNull();
    expect(first(600)).not.toBeNull();
  });

  it("gives the difference to the sample before", () => {
    expect(last([0, 1_000, 50], [0, 2_000, 80])).toEqual({
      fromMs: 1_000,
      toMs: 2_000,
      delta: 30,
      reset: false,
    });
  });

  it("says 0 when nothing happened", () => {
    expect(last([0, 1_000, 50], [0, 2_000, 50])?.delta).toBe(0);
  });

  it("ignores a repeated sample", () => {
    expect(last([0, 1_000, 50], [0, 1_000, 80])).toBeNull();
    expect(last([0, 1_000, 50], [0, 1_000, 80], [0, 2_000, 90])?.delta).toBe(40);
  });

  it("ignores an older sample", () => {
    expect(last([0, 2_000, 50], [0, 1_000, 10])).toBeNull();
    expect(last([0, 2_000, 50], [0, 1_000, 10], [0, 3_000, 60])).toEqual({
      fromMs: 2_000,
      toMs: 3_000,
      delta: 10,
      reset: false,
    });
  });

  it("sees a restart by a decrease when no start is known, and counts from the last sample", () => {
    expect(last([0, 1_000, 50], [0, 2_000, 20])).toEqual({
      fromMs: 1_000,
      toMs: 2_000,
      delta: 20,
      reset: true,
    });
  });

  it("sees a restart by a changed start although the value grew, and counts from the new start", () => {
    expect(last([500, 1_000, 50], [1_600, 2_000, 70])).toEqual({
      fromMs: 1_600,
      toMs: 2_000,
      delta: 70,
      reset: true,
    });
  });

  it("counts from the last sample when the new start lies before it", () => {
    expect(last([500, 1_000, 50], [900, 2_000, 70])).toEqual({
      fromMs: 1_000,
      toMs: 2_000,
      delta: 70,
      reset: true,
    });
  });

  it("takes no restart from a start that becomes known", () => {
    expect(last([0, 1_000, 50], [500, 2_000, 70])).toEqual({
      fromMs: 1_000,
      toMs: 2_000,
      delta: 20,
      reset: false,
    });
  });

  it("takes a restart from a start that becomes known and lies after the last sample", () => {
    expect(last([0, 1_000, 50], [1_000, 2_000, 80])).toEqual({
      fromMs: 1_000,
      toMs: 2_000,
      delta: 80,
      reset: true,
    });
    expect(last([0, 1_000, 50], [1_500, 2_000, 80])).toMatchObject({ fromMs: 1_500, delta: 80 });
  });

  it("counts a restart once that its first sample seems to come before", () => {
    const tracks = new CounterTracks();
    const track = tracks.take();
    tracks.observe(track, 0, 1_000, 5);
    // The page's time of the sample is older than the scrape that defines the start.
    expect(tracks.observe(track, 1_600, 1_500, 0.25)).toMatchObject({ delta: 0.25, reset: true });
    expect(tracks.observe(track, 1_600, 2_000, 0.5)).toEqual({
      fromMs: 1_500,
      toMs: 2_000,
      delta: 0.25,
      reset: false,
    });
    expect(tracks.observe(track, 2_100, 2_500, 0.75)).toMatchObject({ delta: 0.75, reset: true });
  });

  it("goes on with a counter whose sender forgot when it began, whichever of its points come through", () => {
    const perSecond = 10;
    const property = fc.property(
      fc.double({ min: 1e5, max: 1e12, noNaN: true }),
      fc.integer({ min: 5, max: 50 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: -900, max: 0 }),
      fc.boolean(),
      (base, restartAt, lost, earlierMs, isEachPoint) => {
        const tracks = new CounterTracks();
        const track = tracks.take();
        let counted = 0;
        for (let second = 1; second < 60; second++) {
          const timeMs = 10_000_000 + second * 1_000;
          const newStartMs = 10_000_000 + restartAt * 1_000 + (lost > 0 ? earlierMs : 0);
          const restarted = isEachPoint ? timeMs : newStartMs;
          const startMs = second < restartAt ? 1_000 : restarted;
          if (second >= restartAt && second < restartAt + lost) continue;
          const increment = tracks.observe(track, startMs, timeMs, base + perSecond * second);
          if (second > 1) counted += increment?.delta ?? 0;
        }
        expect(Math.abs(counted / (perSecond * 58) - 1)).toBeLessThan(0.01);
      },
    );
    fc.assert(property);
  });

  it("counts a real restart whole, though the counter has passed its former value", () => {
    const samples = [1, 2, 3].map((second) => [500, second * 1_000, 10 * second] as const);
    expect(last(...samples, [3_500, 7_500, 40])).toEqual({
      fromMs: 3_500,
      toMs: 7_500,
      delta: 40,
      reset: true,
    });
  });

  describe("a counter that is read no more", () => {
    const sampled = (...samples: (readonly [timeMs: number, value: number])[]) => {
      const tracks = new CounterTracks();
      const track = tracks.take();
      for (const [timeMs, value] of samples) tracks.observe(track, 500, timeMs, value);
      return {
        end: (timeMs: number) => tracks.end(track, timeMs),
        observe: (timeMs: number, value: number, startMs = 500) =>
          tracks.observe(track, startMs, timeMs, value),
      };
    };

    it("is taken to have gone on for half an interval at its last rate, once", () => {
      const { end } = sampled([1_000, 10], [2_000, 30]);
      expect(end(3_400)).toBeNull();
      expect(end(3_500)).toEqual({ fromMs: 2_000, toMs: 2_500, delta: 10, reset: false });
      expect(end(9_000)).toBeNull();
    });

    it("is not while nothing is known of its rate, or it stood still", () => {
      expect(sampled([1_000, 10]).end(1e9)).toBeNull();
      expect(sampled([1_000, 10], [2_000, 10]).end(1e9)).toBeNull();
      expect(sampled([1_000, 10], [2_000, 4]).end(1e9)).toBeNull();
      expect(sampled().end(1e9)).toBeNull();
    });

    it("counts nothing twice when it was only away", () => {
      const { end, observe } = sampled([1_000, 10], [2_000, 30]);
      end(4_000);
      expect(observe(4_000, 70)).toEqual({ fromMs: 2_500, toMs: 4_000, delta: 30, reset: false });
      expect(end(6_000)).toBeNull();
      expect(end(7_000)).toEqual({ fromMs: 4_000, toMs: 5_000, delta: 20, reset: false });
    });

    it("is never taken back: what it did less than was taken is nothing", () => {
      const { end, observe } = sampled([1_000, 10], [2_000, 30]);
      end(4_000);
      expect(observe(4_000, 32)).toMatchObject({ delta: 0, reset: false });
      expect(observe(5_000, 33)).toMatchObject({ delta: 1 });
    });

    it("counts its new life whole when it began anew", () => {
      const { end, observe } = sampled([1_000, 10], [2_000, 30]);
      end(4_000);
      expect(observe(5_000, 7, 3_000)).toEqual({ fromMs: 3_000, toMs: 5_000, delta: 7, reset: true });
    });
  });

  it("gives a track that was given back to the next one, without a memory", () => {
    const tracks = new CounterTracks();
    const kept = tracks.take();
    tracks.observe(kept, 0, 1_000, 7);
    const many = Array.from({ length: 1_000 }, () => tracks.take());
    for (const [i, track] of many.entries()) tracks.observe(track, 500, 1_000, i);
    for (const track of many) tracks.release(track);
    expect(tracks.used).toBe(1);
    const again = Array.from({ length: 1_000 }, () => tracks.take());
    expect(new Set(again)).toEqual(new Set(many));
    expect(again.map((track) => tracks.observe(track, 0, 2_000, 5))).toEqual(again.map(() => null));
    expect(tracks.observe(kept, 0, 2_000, 9)).toMatchObject({ fromMs: 1_000, delta: 2 });
  });

  it("takes no restart from a start that is left out once", () => {
    expect(last([500, 1_000, 50], [0, 2_000, 60], [500, 3_000, 75])).toMatchObject({
      delta: 15,
      reset: false,
    });
  });

  it("takes a start after the sample for unknown", () => {
    expect(last([5_000, 1_000, 50])).toBeNull();
    expect(last([500, 1_000, 50], [5_000, 2_000, 60])).toMatchObject({ delta: 10, reset: false });
  });

  it.each([NaN, -1, Infinity])("ignores a value of %d", (value) => {
    expect(last([0, 1_000, 50], [0, 2_000, value], [0, 3_000, 60])?.delta).toBe(10);
  });

  it.each([NaN, Infinity, 0, -5])("ignores a time of %d", (timeMs) => {
    expect(last([0, 1_000, 50], [0, timeMs, 55], [0, 3_000, 60])?.delta).toBe(10);
  });
});

function parts(increment: Omit<Increment, "reset">, paneMs: number): [number, number][] {
  const out: [number, number][] = [];
  spreadOverPanes({ ...increment, reset: false }, paneMs, { add: (...part) => out.push(part) });
  return out;
}

describe("spreadOverPanes", () => {
  it("shares in proportion to the time in each pane", () => {
    expect(parts({ fromMs: 5, toMs: 25, delta: 20 }, 10)).toEqual([
      [0, 5],
      [10, 10],
      [20, 5],
    ]);
  });

  it("gives everything to the one pane that covers it", () => {
    expect(parts({ fromMs: 11, toMs: 14, delta: 7 }, 10)).toEqual([[10, 7]]);
  });

  it("gives nothing to the pane that begins where the increment ends", () => {
    expect(parts({ fromMs: 10, toMs: 20, delta: 7 }, 10)).toEqual([[10, 7]]);
  });

  it("gives an increment of no length to its pane", () => {
    expect(parts({ fromMs: 20, toMs: 20, delta: 7 }, 10)).toEqual([[20, 7]]);
  });

  it("visits only the newest panes of an increment as old as the epoch", () => {
    const shared = parts({ fromMs: 1, toMs: 1.7e12, delta: 3.4e12 - 2 }, 10);
    expect(shared.length).toBe(1_024);
    expect(shared.at(-1)![0]).toBe(1.7e12 - 10);
    expect(shared.at(-1)![1]).toBeCloseTo(20, 9);
  });

  it("loses nothing", () => {
    const time = fc.integer({ min: 1_700_000_000_000, max: 1_700_000_600_000 });
    fc.assert(
      fc.property(time, time, fc.integer({ min: 0, max: 1e9 }), (a, b, delta) => {
        const shared = parts({ fromMs: Math.min(a, b), toMs: Math.max(a, b), delta }, 2_000);
        const total = shared.reduce((sum, [, part]) => sum + part, 0);
        expect(Math.abs(total - delta)).toBeLessThanOrEqual(1e-9 * delta);
      }),
    );
  });
});
