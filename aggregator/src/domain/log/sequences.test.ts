import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { AcceptedRecords } from "./accepted-records.ts";
import { readIndex, writeIndex } from "./index-text.ts";
import { OwnedSequences } from "./owned-sequences.ts";
import { REMEMBERED_SEQUENCES, SequenceRanges } from "./sequence-ranges.ts";

describe("ranges of sequences", () => {
  test("know what was added, in any order, as one set does", () => {
    const random = seededRandom(3);
    const ranges = new SequenceRanges();
    const set = new Set<number>();
    for (let i = 0; i < 2000; i++) {
      const from = Math.floor(random.next() * 1500);
      const to = from + Math.floor(random.next() * 4);
      ranges.add(from, to);
      for (let sequence = from; sequence <= to; sequence++) set.add(sequence);
    }
    const known = Array.from({ length: 1600 }, (_, sequence) => sequence);
    expect(known.filter((sequence) => ranges.has(sequence))).toEqual(
      known.filter((sequence) => set.has(sequence)),
    );
    const bounds = ranges.pairs().flat();
    expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
  });

  test("take what is too old for a repeat, and forget its details", () => {
    const ranges = new SequenceRanges();
    ranges.add(1);
    ranges.add(3);
    ranges.add(10 + REMEMBERED_SEQUENCES);
    expect(ranges.has(2)).toBe(true);
    expect(ranges.has(11)).toBe(false);
    expect(ranges.pairs()).toEqual([[10 + REMEMBERED_SEQUENCES, 10 + REMEMBERED_SEQUENCES]]);
  });
});

describe("sequences of an owner", () => {
  test("are repeats when others' deltas contain them, or when this owner has taken them", () => {
    const accepted = new AcceptedRecords(10);
    accepted.add({ source: "a", epoch: "e", ranges: [[0, 9]] });
    const owned = new OwnedSequences(accepted, 10);
    expect(owned.observe("a", "e", 9)).toBe("duplicate");
    expect(owned.observe("a", "e", 10)).toBe("new");
    expect(owned.observe("a", "e", 10)).toBe("duplicate");
    expect(owned.observe("a", "other life", 9)).toBe("new");
    expect(owned.drain()).toEqual([
      { source: "a", epoch: "e", ranges: [[10, 10]] },
      { source: "a", epoch: "other life", ranges: [[9, 9]] },
    ]);
    expect(owned.drain()).toEqual([]);
  });

  test("what an owner took that lost its partition is new to the next one", () => {
    const accepted = new AcceptedRecords(10);
    expect(new OwnedSequences(accepted, 10).observe("a", "e", 5)).toBe("new");
    expect(new OwnedSequences(accepted, 10).observe("a", "e", 5)).toBe("new");
  });

  test("a gap between two owners is missing, and one that others have filled is not", () => {
    const accepted = new AcceptedRecords(10);
    accepted.add({
      source: "a",
      epoch: "e",
      ranges: [
        [0, 9],
        [11, 12],
      ],
    });
    const owned = new OwnedSequences(accepted, 10);
    owned.observe("a", "e", 10);
    owned.observe("a", "e", 13);
    expect(owned.outstanding).toBe(0);
    owned.observe("a", "e", 15);
    expect(owned.outstanding).toBe(1);
  });

  test("the oldest of too many sources, and lives of one, are forgotten", () => {
    const accepted = new AcceptedRecords(2);
    for (const source of ["a", "b", "c"]) accepted.add({ source, epoch: "e", ranges: [[1, 1]] });
    for (const epoch of ["f", "g"]) accepted.add({ source: "c", epoch, ranges: [[1, 1]] });
    expect(accepted.has("a", "e", 1)).toBe(false);
    expect(accepted.has("c", "e", 1)).toBe(false);
    expect(accepted.has("c", "g", 1)).toBe(true);
    expect(accepted.sources).toBe(2);
  });
});

describe("the index of a delta", () => {
  const index = {
    sequences: [
      {
        source: "node-1",
        epoch: "e-1",
        ranges: [
          [0, 5],
          [7, 7],
        ] as [number, number][],
      },
      { source: "node-2#2", epoch: "x", ranges: [[3, 2 ** 53 - 1]] as [number, number][] },
    ],
    dropped: [{ source: "node-1", epoch: "e-1", dropped: 12 }],
  };

  test("is read as it was written", () => {
    const [text, ...more] = writeIndex(index, 10_000);
    expect(more).toEqual([]);
    expect(text).toBe(
      "isochrone-index 1\nd node-1 e-1 12\ns node-1 e-1 0-5,7\ns node-2#2 x 3-9007199254740991",
    );
    expect(readIndex(text!)).toEqual(index);
  });

  test("comes in several texts when it is long, and in one when it is empty", () => {
    const texts = writeIndex(index, 40);
    expect(texts).toHaveLength(3);
    const read = texts.map((text) => readIndex(text)!);
    expect(read.flatMap(({ sequences }) => sequences)).toEqual(index.sequences);
    expect(readIndex(writeIndex({ sequences: [], dropped: [] }, 40)[0]!)).toEqual({
      sequences: [],
      dropped: [],
    });
  });

  test.each([
    "",
    "isochrone-index 2",
    "isochrone-index 1\ns a",
    "isochrone-index 1\ns a e 1-",
    "isochrone-index 1\nx a e 1",
  ])("%j is none", (text) => {
    expect(readIndex(text)).toBeNull();
  });
});
