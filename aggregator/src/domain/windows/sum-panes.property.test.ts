import { seededRandom, type Random } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";
import { PaneRows } from "./pane-rows.ts";
import { SumPanes } from "./sum-panes.ts";

const SHAPE = { windowMs: 600, paneMs: 100, panes: 6, fastPanes: 2 };
const START_PANE = 10_000;

/** Reference model with a map. */
class Model {
  readonly #sums = new Map<number, number>();
  #newest = -1;

  add(pane: number, part: number): void {
    if (pane <= this.#newest - SHAPE.panes - 2) return;
    this.#newest = Math.max(this.#newest, pane);
    this.#sums.set(pane, (this.#sums.get(pane) ?? 0) + part);
  }

  total(nowPane: number, panes: number, before: number): number {
    const first = Math.max(nowPane - panes + 1, this.#newest - SHAPE.panes - 1);
    return [...this.#sums].reduce(
      (sum, [pane, part]) => (pane >= first && pane < before ? sum + part : sum),
      0,
    );
  }
}

const KINDS = ["add", "add", "add", "read", "release"] as const;

function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1));
}

function stepOf(random: Random) {
  return {
    counter: between(random, 0, 3),
    kind: KINDS[between(random, 0, KINDS.length - 1)]!,
    advance: between(random, 0, random.next() < 0.1 ? 20 : 1),
    ago: between(random, -1, 9),
    part: between(random, 0, 1000),
    panes: between(random, 1, SHAPE.panes),
    cut: between(random, -1, 8),
  };
}

describe("SumPanes", () => {
  it.each(Array.from({ length: 100 }, (_, seed) => seed + 1))(
    "has what a map of panes has, beside others in the same memory, whatever was released before (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      const rows = new PaneRows(SHAPE);
      const counters = Array.from({ length: 4 }, () => ({ sums: new SumPanes(rows), model: new Model() }));
      let nowPane = START_PANE;
      const said: number[] = [];
      const meant: number[] = [];
      for (let i = 0; i < 300; i++) {
        const { counter, kind, advance, ago, part, panes, cut } = stepOf(random);
        nowPane += advance;
        const { sums, model } = counters[counter]!;
        if (kind === "add") {
          sums.add((nowPane - ago) * SHAPE.paneMs, part);
          model.add(nowPane - ago, part);
        } else if (kind === "release") {
          sums.release();
          counters[counter] = { sums, model: new Model() };
        } else {
          const before = nowPane - cut;
          said.push(sums.total(nowPane * SHAPE.paneMs, panes, before * SHAPE.paneMs));
          meant.push(model.total(nowPane, panes, before));
        }
      }
      expect(said).toEqual(meant);
      for (const { sums } of counters) sums.release();
      expect(rows.used).toBe(0);
    },
  );
});
