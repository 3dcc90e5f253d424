import { describe, expect, test } from "vitest";
import type { RawSeries } from "./answer.ts";
import { ScrapedPages } from "./scraped-pages.ts";
import { SeriesMemory } from "./series-memory.ts";

const LABELS = { job: "j", instance: "i" };

function series(values: Readonly<Record<number, number>>, more: Record<string, string> = {}): RawSeries {
  const samples = Object.entries(values).map(([timeMs, value]) => ({ timeMs: Number(timeMs), value }));
  return { metric: "m_total", labels: { ...LABELS, ...more }, samples };
}

function up(timesMs: readonly number[], failedMs: readonly number[] = []): RawSeries {
  const samples = timesMs.map((timeMs) => ({ timeMs, value: failedMs.includes(timeMs) ? 0 : 1 }));
  return { metric: "up", labels: LABELS, samples };
}

describe("SeriesMemory", () => {
  test("gives every sample once, whatever overlap the answers have", () => {
    const memory = new SeriesMemory(new ScrapedPages(), 10);
    const times = (answer: RawSeries): number[] => memory.fresh(answer, 0).map(({ timeMs }) => timeMs);
    expect(times(series({ 10: 1, 20: 2 }))).toEqual([10, 20]);
    expect(times(series({ 10: 1, 20: 2, 30: 3 }))).toEqual([30]);
    expect(times(series({ 10: 1, 20: 2, 30: 3 }))).toEqual([]);
    expect(times(series({ 20: 2, 25: 2.5, 30: 3, 40: 4 }))).toEqual([40]);
  });

  test("series differ by any label", () => {
    const memory = new SeriesMemory(new ScrapedPages(), 10);
    expect(memory.fresh(series({ 10: 1 }), 0)).toHaveLength(1);
    expect(memory.fresh(series({ 10: 1 }, { code: "503" }), 0)).toHaveLength(1);
    expect(memory.size).toBe(2);
  });

  test("is bounded, and counts what it leaves out; what is silent makes room", () => {
    const memory = new SeriesMemory(new ScrapedPages(), 2);
    for (let i = 0; i < 5; i++) memory.fresh(series({ 10: 1 }, { code: String(i) }), 0);
    expect([memory.size, memory.leftOut]).toEqual([2, 3]);
    memory.forget(11);
    expect(memory.fresh(series({ 20: 1 }, { code: "4" }), 0)).toHaveLength(1);
    expect(memory.size).toBe(1);
  });
});

describe("when a counter began", () => {
  /** Three rounds of a target scraped every 10 ms; answers reach back 30 ms. */
  function followed(): { pages: ScrapedPages; memory: SeriesMemory } {
    const pages = new ScrapedPages();
    pages.take([up([10, 20, 30])], 5, 35);
    return { pages, memory: new SeriesMemory(pages, 10) };
  }
  const startsOf = (memory: SeriesMemory, answer: RawSeries, fromMs: number): (number | undefined)[] =>
    memory.fresh(answer, fromMs).map(({ startMs }) => startMs);

  test("isn't known of what the first answer has: it may be old", () => {
    const { memory } = followed();
    expect(startsOf(memory, series({ 10: 500, 20: 501 }), 5)).toEqual([undefined, undefined]);
    expect(startsOf(memory, series({ 20: 7 }, { code: "503" }), 5)).toEqual([undefined]);
  });

  test("is the target's last page before the first sample, and stays", () => {
    const { pages, memory } = followed();
    pages.take([up([20, 30, 40, 50])], 15, 55);
    expect(startsOf(memory, series({ 50: 7 }), 15)).toEqual([40]);
    pages.take([up([50, 60])], 35, 65);
    expect(startsOf(memory, series({ 50: 7, 60: 9 }), 35)).toEqual([40]);
  });

  test("is not a page that failed, because the series could have been on it", () => {
    const { pages, memory } = followed();
    pages.take([up([20, 30, 40, 50], [40])], 15, 55);
    expect(startsOf(memory, series({ 50: 7 }), 15)).toEqual([30]);
  });

  test("moves when the counter falls", () => {
    const { pages, memory } = followed();
    memory.fresh(series({ 10: 500, 20: 501, 30: 502 }), 5);
    pages.take([up([20, 30, 40, 50])], 15, 55);
    expect(startsOf(memory, series({ 30: 502, 40: 3, 50: 4 }), 15)).toEqual([30, 30]);
  });

  test("isn't known after a time that nobody saw, nor of targets without scrapes", () => {
    const { pages, memory } = followed();
    pages.take([up([100, 110])], 85, 115);
    expect(startsOf(memory, series({ 110: 7 }), 85)).toEqual([undefined]);
    expect(startsOf(memory, series({ 110: 7 }, { instance: "other" }), 85)).toEqual([undefined]);
  });

  test("isn't a page older than the answer in hand, which can't tell whether the series was on it", () => {
    const { pages, memory } = followed();
    pages.take([up([30, 50])], 15, 55);
    expect(startsOf(memory, series({ 50: 7 }), 40)).toEqual([undefined]);
  });

  test("keeps room for other namespaces, however many series one of them has", () => {
    const memory = new SeriesMemory(new ScrapedPages(), 100);
    const taken = (namespace: string, count: number): number => {
      const before = memory.size;
      for (let i = 0; i < count; i++)
        memory.fresh(series({ 10: 1 }, { namespace, code: String(i) }), 0, namespace);
      return memory.size - before;
    };
    expect(taken("shop", 1)).toBe(1);
    expect(taken("evil", 1000)).toBe(50);
    expect(taken("bank", 30)).toBe(30);
    memory.forget(11);
    expect(taken("shop", 1000)).toBe(100);
  });
});
