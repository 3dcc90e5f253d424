import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeMetrics } from "./encode.ts";
import { MetricsDecoder } from "./decode.ts";
import type { Attributes, Series } from "./model.ts";

function inOrder(attributes: Attributes, names: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name) => [name, attributes[name]!]));
}

function exportOf(decoder: MetricsDecoder, all: readonly Attributes[], resource: Attributes = {}): Series[] {
  const seen: Series[] = [];
  const add = (series: Series): void => void seen.push(series);
  const points = all.map((attributes) => ({ attributes, timeMs: 1, value: 1 }));
  const metrics = [{ kind: "gauge", name: "g", points }] as const;
  decoder.decode(encodeMetrics({ resource, scope: { name: "test" }, metrics }), {
    number: add,
    histogram: add,
    exponentialHistogram: add,
    refused: (reason) => expect.fail(reason),
  });
  return seen;
}

const SERIES: readonly Attributes[] = Array.from({ length: 200 }, (_, i) => ({
  client: `client-${i % 20}`,
  server: `server-${Math.floor(i / 20)}`,
  connection_type: "",
  failed: i % 2 === 0,
  virtual_node: "server",
  port: i,
}));

function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fff_ffff) / 0x7fff_ffff;
}

function shuffled<T>(all: readonly T[], next: () => number): T[] {
  return all
    .map((value) => [next(), value] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, value]) => value);
}

function textOf(pairs: readonly (readonly [string, unknown])[]): string {
  return JSON.stringify(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe("a sender that writes attributes in another order at each export", () => {
  it("has one series, and one entry, for each of its series", () => {
    const next = pseudoRandom(1);
    const decoder = new MetricsDecoder();
    const first = exportOf(decoder, SERIES);
    for (let round = 0; round < 30; round++) {
      const again = exportOf(
        decoder,
        SERIES.map((attributes) => inOrder(attributes, shuffled(Object.keys(attributes), next))),
      );
      expect(again.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
    }
    expect(decoder.seriesCount).toBe(SERIES.length);
    expect(first.map(({ attributes }) => attributes)).toEqual(SERIES);
  });

  it("keeps its series when it stays with a new order, and each has its own state", () => {
    const decoder = new MetricsDecoder();
    for (const [i, series] of exportOf(decoder, SERIES).entries()) series.state = i;
    const turned = SERIES.map((attributes) => inOrder(attributes, Object.keys(attributes).toReversed()));
    for (let round = 0; round < 3; round++)
      expect(exportOf(decoder, turned).map(({ state }) => state)).toEqual(SERIES.map((_, i) => i));
    expect(decoder.seriesCount).toBe(SERIES.length);
  });

  it("does not get the series of another resource, or of other values under the same names", () => {
    const decoder = new MetricsDecoder();
    const [one, other, swapped] = [
      exportOf(decoder, [{ a: "x", b: "y" }])[0]!,
      exportOf(decoder, [{ b: "y", a: "x" }], { host: "1" })[0]!,
      exportOf(decoder, [{ b: "x", a: "y" }])[0]!,
    ];
    expect(new Set([one.id, other.id, swapped.id]).size).toBe(3);
    expect(exportOf(decoder, [{ b: "y", a: "x" }])[0]).toBe(one);
    expect(swapped.attributes).toEqual({ a: "y", b: "x" });
  });

  it("pushes nobody out of a full cache but who was silent for longest", () => {
    const decoder = new MetricsDecoder({ maxSeries: 3 });
    const [a, b] = exportOf(decoder, [
      { x: "1", y: "a" },
      { x: "1", y: "b" },
      { x: "1", y: "c" },
    ]);
    expect(exportOf(decoder, [{ y: "a", x: "1" }])[0]).toBe(a);
    exportOf(decoder, [{ y: "d", x: "1" }]);
    expect([decoder.seriesCount, decoder.evictedSeries]).toEqual([3, 1]);
    expect(exportOf(decoder, [{ x: "1", y: "a" }])[0]).toBe(a);
    expect(exportOf(decoder, [{ y: "b", x: "1" }])[0]!.id).not.toBe(b!.id);
  });

  it("shares what others send of the same series in an order of their own", () => {
    const decoder = new MetricsDecoder();
    const turned = SERIES.map((attributes) => inOrder(attributes, Object.keys(attributes).toReversed()));
    const ids = exportOf(decoder, SERIES).map(({ id }) => id);
    for (let round = 0; round < 3; round++) {
      expect(exportOf(decoder, turned).map(({ id }) => id)).toEqual(ids);
      expect(exportOf(decoder, SERIES).map(({ id }) => id)).toEqual(ids);
    }
    expect([decoder.seriesCount, decoder.evictedSeries]).toEqual([SERIES.length, 0]);
  });
});

describe("senders that keep an order", () => {
  it.each([
    ["sorted", (names: string[]) => names.toSorted()],
    ["unsorted", (names: string[]) => names.toSorted().toReversed()],
  ])("have one entry per series (%s)", (_, arrange) => {
    const decoder = new MetricsDecoder();
    const arranged = SERIES.map((attributes) => inOrder(attributes, arrange(Object.keys(attributes))));
    for (let round = 0; round < 3; round++) exportOf(decoder, arranged);
    expect([decoder.seriesCount, decoder.evictedSeries]).toEqual([SERIES.length, 0]);
  });
});

describe("any attributes in any order", () => {
  it("are the same series exactly when they are the same attributes", () => {
    const pair = fc.tuple(fc.constantFrom("a", "b", "ab", "é", "k".repeat(200)), fc.string({ maxLength: 3 }));
    const attributes = fc.uniqueArray(pair, { selector: ([name]) => name, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(attributes, { maxLength: 60 }),
        fc.integer({ min: 1, max: 200 }),
        (all, maxSeries) => {
          const decoder = new MetricsDecoder({ maxSeries, hashSeed: 7 });
          const lastSeen: string[] = [];
          for (const pairs of all) {
            const [series] = exportOf(decoder, [Object.fromEntries(pairs)]);
            const name = textOf(pairs);
            const known = lastSeen.indexOf(name);
            expect(series!.state).toBe(known < 0 ? undefined : name);
            series!.state = name;
            expect(textOf(Object.entries(series!.attributes))).toBe(name);
            if (known >= 0) lastSeen.splice(known, 1);
            lastSeen.push(name);
            if (lastSeen.length > maxSeries) lastSeen.shift();
            expect(decoder.seriesCount).toBe(lastSeen.length);
          }
        },
      ),
    );
  });
});
