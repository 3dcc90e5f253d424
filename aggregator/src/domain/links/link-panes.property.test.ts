import { seededRandom, type Random } from "@isochrone/runtime";
import { Distribution } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";
import { HistogramReferences } from "./histogram-references.ts";
import { LINK_COUNTS, type LinkCounts, type LinkPane } from "./link-counts.ts";
import { LinkPanes } from "./link-panes.ts";
import { PaneRows } from "../windows/pane-rows.ts";

const SHAPE = { windowMs: 600, paneMs: 100, panes: 6, fastPanes: 2 };
const START_MS = 1_000_000;

interface ModelPane {
  readonly counts: Record<keyof LinkCounts, number>;
  rtt: Distribution | null;
}

/** Reference model with objects: one per pane, summed on read. */
class Model {
  readonly #panes = new Map<number, ModelPane>();
  #open: ModelPane | null = null;

  open(timeMs: number, nowMs: number): boolean {
    const pane = Math.floor(timeMs / SHAPE.paneMs);
    if (timeMs > nowMs + SHAPE.paneMs || pane < firstOf(nowMs, SHAPE.panes)) return false;
    const counts = Object.fromEntries(LINK_COUNTS.map((name) => [name, 0])) as ModelPane["counts"];
    this.#open = this.#panes.get(pane) ?? { counts, rtt: null };
    this.#panes.set(pane, this.#open);
    return true;
  }

  add(field: keyof LinkCounts, value: number): void {
    this.#open!.counts[field] += value;
  }

  addRtt(distribution: Distribution): void {
    (this.#open!.rtt ??= new Distribution()).merge(distribution);
  }

  read(nowMs: number, panes: number): unknown {
    const isWhole = panes === SHAPE.panes;
    const read = [...this.#panes]
      .filter(([pane]) => pane >= firstOf(nowMs, panes))
      .filter(([pane]) => isWhole || pane * SHAPE.paneMs <= nowMs)
      .map(([, pane]) => pane);
    if (read.length === 0) return null;
    const rtt = new Distribution();
    for (const pane of read) if (pane.rtt !== null) rtt.merge(pane.rtt);
    const counts = LINK_COUNTS.map((name) => read.reduce((sum, pane) => sum + pane.counts[name], 0));
    return { counts, rtt: plain(rtt) };
  }
}

function firstOf(nowMs: number, panes: number): number {
  return Math.floor(nowMs / SHAPE.paneMs) - panes + 1;
}

/** Excludes the sum, which depends on the order of additions. */
function plain(rtt: Distribution | null): unknown {
  const { bucketCounts, sum: _, ...rest } = (rtt ?? new Distribution()).toData();
  return { ...rest, bucketCounts: Array.from(bucketCounts) };
}

function plainPane(pane: LinkPane | null): unknown {
  return pane === null ? null : { counts: LINK_COUNTS.map((name) => pane[name]), rtt: plain(pane.rtt) };
}

type Step =
  | { readonly kind: "wait"; readonly ms: number }
  | {
      readonly kind: "count";
      readonly agoMs: number;
      readonly field: keyof LinkCounts;
      readonly value: number;
    }
  | { readonly kind: "rtt"; readonly agoMs: number; readonly samples: readonly number[] }
  | { readonly kind: "read"; readonly panes: number };

function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1));
}

function stepOf(random: Random): Step {
  const agoMs = between(random, -150, 700);
  const samples = Array.from({ length: between(random, 0, 6) }, () => between(random, 1, 2000));
  const all: readonly Step[] = [
    { kind: "wait", ms: between(random, 0, 250) },
    { kind: "wait", ms: random.next() < 0.2 ? between(random, 500, 2000) : 0 },
    {
      kind: "count",
      agoMs,
      field: LINK_COUNTS[between(random, 0, LINK_COUNTS.length - 1)]!,
      value: between(random, 0, 20),
    },
    { kind: "rtt", agoMs, samples },
    { kind: "read", panes: between(random, 1, SHAPE.panes) },
  ];
  return all[between(random, 0, all.length - 1)]!;
}

function distributionOf(samples: readonly number[]): Distribution {
  const distribution = new Distribution();
  for (const sample of samples) distribution.record(sample / 1000);
  return distribution;
}

describe("LinkPanes", () => {
  it.each(Array.from({ length: 100 }, (_, seed) => seed + 1))(
    "says what panes as objects say, of several links in the same memory, and leaves nothing behind (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      const memory = { rows: new PaneRows(SHAPE), histograms: new HistogramReferences() };
      const links = Array.from({ length: 3 }, () => ({
        panes: new LinkPanes(SHAPE, memory),
        model: new Model(),
      }));
      let nowMs = START_MS;
      const said: unknown[] = [];
      const meant: unknown[] = [];
      for (let i = 0; i < 400; i++) {
        const each = stepOf(random);
        const { panes, model } = links[between(random, 0, 2)]!;
        if (each.kind === "wait") nowMs += each.ms;
        else if (each.kind === "read") {
          said.push(plainPane(panes.read(nowMs, each.panes)));
          meant.push(model.read(nowMs, each.panes));
        } else {
          const isOpen = model.open(nowMs - each.agoMs, nowMs);
          said.push(panes.open(nowMs - each.agoMs, nowMs));
          meant.push(isOpen);
          if (!isOpen) continue;
          if (each.kind === "count") {
            panes.add(each.field, each.value);
            model.add(each.field, each.value);
          } else {
            const distribution = distributionOf(each.samples);
            panes.addRtt(distribution.toData());
            model.addRtt(distribution);
          }
        }
      }
      expect(said).toEqual(meant);
      for (const { panes, model } of links)
        for (const count of [1, SHAPE.fastPanes, SHAPE.panes])
          expect(plainPane(panes.read(nowMs, count))).toEqual(model.read(nowMs, count));
      for (const { panes } of links) expect(panes.expire(nowMs + 10 * SHAPE.windowMs)).toBe(true);
      expect(memory.rows.used).toBe(0);
      expect(memory.histograms.chunks).toBe(0);
    },
  );

  it("begins anew when the clock was set back by more than a window", () => {
    const memory = { rows: new PaneRows(SHAPE), histograms: new HistogramReferences() };
    const panes = new LinkPanes(SHAPE, memory);
    panes.open(START_MS, START_MS);
    panes.add("sent", 5);
    const backMs = START_MS - 5 * SHAPE.windowMs;
    expect(panes.open(backMs, backMs)).toBe(true);
    panes.add("sent", 2);
    expect(panes.read(backMs, SHAPE.panes)).toMatchObject({ sent: 2 });
  });

  it("refuses what lies before the panes that it dropped already", () => {
    const memory = { rows: new PaneRows(SHAPE), histograms: new HistogramReferences() };
    const panes = new LinkPanes(SHAPE, memory);
    expect(panes.open(START_MS, START_MS)).toBe(true);
    expect(panes.open(START_MS - SHAPE.windowMs, START_MS - SHAPE.paneMs)).toBe(false);
  });
});
