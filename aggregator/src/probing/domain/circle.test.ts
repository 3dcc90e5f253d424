import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { hash53 } from "../../domain/hash.ts";
import { Circle, orderOf, remix } from "./circle.ts";
import { OpenCircle } from "./open-circle.ts";

const hashesOf = (count: number): Float64Array =>
  Float64Array.from({ length: count }, (_, index) => hash53(`node-${index}`));

describe("remix", () => {
  test("gives whole numbers of 53 bits, even and unrelated from salt to salt", () => {
    const hashes = hashesOf(20_000);
    for (const salt of [0, 1, 2, 199, 0x70000001, 5_700_000]) {
      const buckets = Array.from({ length: 16 }, () => 0);
      let strays = 0;
      let agreements = 0;
      for (const hash of hashes) {
        const mixed = remix(hash, salt);
        if (!Number.isSafeInteger(mixed) || mixed < 0) strays += 1;
        buckets[Math.floor(mixed / 2 ** 49)]! += 1;
        if (mixed % 2 === remix(hash, salt + 1) % 2) agreements += 1;
      }
      expect(strays).toBe(0);
      // 1,250 of 10,000 each, within five standard deviations.
      for (const count of buckets) expect(Math.abs(count - 1_250)).toBeLessThan(175);
      expect(Math.abs(agreements - 10_000)).toBeLessThan(355);
    }
  });
});

describe("Circle", () => {
  test("everybody has one successor and is one's successor", () => {
    const circle = new Circle(hashesOf(500));
    const successors = Array.from({ length: 500 }, (_, place) => circle.after(place, () => true));
    expect(new Set(successors).size).toBe(500);
    let place = 0;
    for (let step = 0; step < 500; step++) place = successors[place]!;
    expect(place).toBe(0);
  });

  test("passes over what isn't accepted, and finds nobody rather than the place itself", () => {
    const circle = new Circle(Float64Array.of(30, 10, 20));
    expect(circle.after(1, () => true)).toBe(2);
    expect(circle.after(1, (candidate) => candidate !== 2)).toBe(0);
    expect(circle.after(0, () => true)).toBe(1);
    expect(circle.after(1, (candidate) => candidate === 1)).toBe(-1);
  });

  test("equal hashes are in the order of their numbers, the largest ones keep their order", () => {
    const most = 2 ** 53 - 1;
    expect([...orderOf(Float64Array.of(5e9, 7, 5e9, most, 7))]).toEqual([1, 4, 0, 2, 3]);
  });
});

describe("OpenCircle", () => {
  test("finds the first open point, as a search through all of them does", () => {
    const random = seededRandom(5);
    const points = Array.from({ length: 300 }, (_, index) => ({
      position: Math.floor(random.next() * 2 ** 53),
      owner: index % 75,
    }));
    const circle = new OpenCircle(
      Float64Array.from(points, ({ position }) => position),
      Int32Array.from(points, ({ owner }) => owner),
    );
    const sorted = points.toSorted((a, b) => a.position - b.position);
    const closed = new Set<number>();
    for (let step = 0; step < 600; step++) {
      if (step % 8 === 0) closed.add(Math.floor(random.next() * 75));
      const position = Math.floor(random.next() * 2 ** 53);
      const open = sorted.filter(({ owner }) => !closed.has(owner));
      const expected = open.find((point) => point.position >= position) ?? open[0];
      expect(circle.first(position, (owner) => closed.has(owner))).toBe(expected?.owner ?? -1);
    }
    for (let owner = 0; owner < 75; owner++) closed.add(owner);
    expect(circle.first(0, (owner) => closed.has(owner))).toBe(-1);
  });
});
