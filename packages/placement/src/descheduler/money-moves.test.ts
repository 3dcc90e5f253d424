import { expect, test } from "vitest";
import type { MoveRules } from "./deschedule-input.ts";
import { decide, moved } from "./testing/decisions.ts";
import { shop, TWO_ZONES, type ShopOptions } from "./testing/shop.ts";

/** Most of web is in zb, db is on a full node in za. Traffic between zones costs money. */
const PAID: ShopOptions = {
  pods: { web: ["n2", "n3", "n4"], db: ["n1"] },
  cpusOf: { n1: 1 },
  channels: [["web", "db", 1e6]],
  fixed: ["db"],
};

function decided(costMs: (a: string, b: string) => number, rules: Partial<MoveRules>): string[] {
  const of = shop({ ...PAID, costMs });
  const prices = {
    currency: "USD",
    placeOf: Int32Array.of(0, 0, 1, 1),
    places: 2,
    perByte: Float64Array.of(0, 2e-11, 2e-11, 0),
    unknown: [],
    unknownPairs: 0,
  };
  const problem = { ...of.workflow.problem, prices };
  return moved(decide({ ...of, workflow: { ...of.workflow, problem } }, rules));
}

const flat = (): number => 10;
const across = (a: string, b: string): number => (TWO_ZONES[a] === TWO_ZONES[b] ? 4 : 1);

test("a pod moves to save money where latency gives no reason to", () => {
  expect(decided(flat, { moneyShare: 0 })).toEqual([]);
  expect(decided(flat, { moneyShare: 0.9 })).toEqual([expect.stringMatching(/^web-[12] n[34]>n2$/)]);
});

test("no move that saves money loses more latency than the bound allows", () => {
  expect(decided(across, { moneyShare: 0.9 })).toEqual([]);
  expect(decided(across, { moneyShare: 0.9, maxLatencyLoss: 3 })).toHaveLength(1);
});
