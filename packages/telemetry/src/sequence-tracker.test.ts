import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEQUENCE_BITMAP_BITS, SequenceTracker } from "./sequence-tracker.ts";

function observeAll(tracker: SequenceTracker, sequences: Iterable<number>, epoch = "e1"): string[] {
  return Array.from(sequences, (sequence) => tracker.observe("node-1", epoch, sequence));
}

function* range(from: number, to: number): Generator<number> {
  for (let i = from; i <= to; i++) yield i;
}

describe("SequenceTracker", () => {
  it("tells repeats from new records, in any order", () => {
    const tracker = new SequenceTracker();
    expect(observeAll(tracker, [0, 1, 1, 4, 2, 4, 2, 3, 0])).toEqual([
      "new",
      "new",
      "duplicate",
      "new",
      "new",
      "duplicate",
      "duplicate",
      "new",
      "duplicate",
    ]);
  });

  it("misses nothing where every gap is filled", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, [0, 3]);
    expect(tracker.outstanding).toBe(2);
    observeAll(tracker, [2, 1]);
    expect([tracker.outstanding, tracker.missing]).toEqual([0, 0]);
    observeAll(tracker, range(4, 10_000));
    expect(tracker.missing).toBe(0);
  });

  it("counts a sequence as missing when it leaves the bitmap", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, [0, 2]);
    observeAll(tracker, range(3, SEQUENCE_BITMAP_BITS));
    expect([tracker.missing, tracker.outstanding]).toEqual([0, 1]);
    expect(tracker.observe("node-1", "e1", SEQUENCE_BITMAP_BITS + 1)).toBe("new");
    expect([tracker.missing, tracker.outstanding]).toEqual([1, 0]);
  });

  it("counts the part of a wide gap that no bitmap holds at once", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, [0, 10_000]);
    expect(tracker.missing + tracker.outstanding).toBe(9_999);
    expect(tracker.outstanding).toBe(SEQUENCE_BITMAP_BITS - 1);
    expect(tracker.observe("node-1", "e1", 9_999)).toBe("new");
    expect(tracker.observe("node-1", "e1", 10_000 - SEQUENCE_BITMAP_BITS)).toBe("duplicate");
  });

  it("doesn't miss what came before the first record that it saw", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, range(500, 20_000));
    expect(tracker.missing).toBe(0);
  });

  it("takes a record before the first one that it saw", () => {
    const tracker = new SequenceTracker();
    expect(observeAll(tracker, [500, 499, 499])).toEqual(["new", "new", "duplicate"]);
    expect([tracker.missing, tracker.outstanding]).toEqual([0, 0]);
  });

  it("starts anew with a new epoch and still knows the one before", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, [0, 1, 2]);
    expect(observeAll(tracker, [0, 1], "e2")).toEqual(["new", "new"]);
    expect(observeAll(tracker, [2, 3])).toEqual(["duplicate", "new"]);
  });

  it("counts the open gaps of an epoch that it forgets", () => {
    const tracker = new SequenceTracker();
    observeAll(tracker, [0, 5], "e1");
    observeAll(tracker, [0], "e2");
    observeAll(tracker, [0], "e3");
    expect([tracker.missing, tracker.outstanding]).toEqual([4, 0]);
  });

  it("forgets the least recently used source when it has too many", () => {
    const tracker = new SequenceTracker({ maxSources: 2 });
    for (const source of ["a", "b", "a", "c"]) tracker.observe(source, "e", 7);
    expect(tracker.sources).toBe(2);
    expect(tracker.observe("a", "e", 7)).toBe("duplicate");
    expect(tracker.observe("b", "e", 7)).toBe("new");
  });

  it.each([-1, 0.5, NaN, 2 ** 53])("refuses the sequence %d", (sequence) => {
    expect(() => new SequenceTracker().observe("a", "e", sequence)).toThrow("sequence must be an integer");
  });

  it("agrees with a set on any order within the bitmap", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: SEQUENCE_BITMAP_BITS - 1 }), { maxLength: 300 }),
        (sequences) => {
          const tracker = new SequenceTracker();
          const seen = new Set<number>();
          for (const sequence of sequences) {
            expect(tracker.observe("a", "e", sequence)).toBe(seen.has(sequence) ? "duplicate" : "new");
            seen.add(sequence);
          }
          const first = sequences[0] ?? 0;
          const above = [...seen].filter((sequence) => sequence > first);
          expect(tracker.outstanding).toBe(
            Math.max(0, ...above.map((sequence) => sequence - first)) - above.length,
          );
        },
      ),
    );
  });

  it("never loses a sequence: all are seen, missing or outstanding", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6_000 }), { maxLength: 50 }), (steps) => {
        const tracker = new SequenceTracker();
        let sequence = 0;
        tracker.observe("a", "e", 0);
        for (const step of steps) tracker.observe("a", "e", (sequence += step));
        expect(tracker.missing + tracker.outstanding + steps.length).toBe(sequence);
      }),
    );
  });
});
