import { describe, expect, it } from "vitest";
import type { SeriesPoint } from "../run/result.ts";
import { tiny } from "../run/testing/fakes.ts";
import type { Scenario } from "../scenario/model.ts";
import { recoveriesOf } from "./recovery.ts";
import { result } from "./testing/results.ts";

const scenario: Scenario = {
  ...tiny((text) => `${text}changes: [{ at: 15s, nodeDown: b }]\n`),
  contenders: ["default", "isochrone", "optimum"],
};

/** Intervals of 10 s; the change comes in the second one. */
function series(p95s: readonly number[]): readonly SeriesPoint[] {
  return p95s.map((p95, index) => ({
    atSeconds: 10 * (index + 1),
    p95,
    mean: p95,
    requests: 9,
    failed: 0,
    cost: 0,
    moves: 0,
  }));
}

describe("recovery", () => {
  it("is held against what the optimum settles at", () => {
    const results = [
      result(10, "optimum", 1, { p95: 1, settledP95: 100, series: series([50, 900, 100, 100, 100, 100]) }),
      result(10, "isochrone", 1, { p95: 1, series: series([50, 900, 400, 105, 108, 109]) }),
      result(10, "default", 1, { p95: 1, series: series([50, 900, 200, 200, 200, 200]) }),
    ];
    expect(
      recoveriesOf(scenario, results).map(({ contender, median, target }) => [contender, median, target]),
    ).toStrictEqual([
      ["default", null, 100],
      ["isochrone", 25, 100],
      ["optimum", 15, 100],
    ]);
  });

  it("is not measured where it goes on changing: there is no one new optimum", () => {
    const again: Scenario = {
      ...tiny(
        (text) => `${text}changes: [{ at: 15s, nodeDown: b }, { at: 25s, regionLatency: east, factor: 2 }]\n`,
      ),
      contenders: ["default", "isochrone"],
    };
    const results = [
      result(10, "isochrone", 1, { p95: 1, settledP95: 100, series: series([50, 900, 100, 100]) }),
    ];
    expect(recoveriesOf(again, results)).toStrictEqual([]);
  });

  it.each<[string, readonly number[], number | null]>([
    ["from the first good stretch", [50, 900, 100, 100, 100, 100], 15],
    ["with the stretch of the change itself", [50, 100, 100, 100, 100, 100], 5],
    ["with a bad stretch alone, which is chance", [50, 900, 100, 400, 100, 100], 15],
    ["with bad stretches that are alone, the last one too", [50, 100, 400, 100, 100, 400], 5],
    ["after the relapse", [50, 900, 100, 100, 400, 400, 100, 100], 55],
    ["not when a relapse is the end", [50, 100, 100, 100, 400, 400], null],
    ["not when one good stretch is left after the relapse", [50, 100, 100, 400, 400, 100], null],
    ["not by a single good stretch, the last", [50, 900, 900, 900, 900, 100], null],
    ["by two good ones at the end", [50, 900, 900, 900, 100, 100], 35],
  ])("lasts %s", (_, p95s, seconds) => {
    const results = [result(10, "isochrone", 1, { p95: 1, settledP95: 100, series: series(p95s) })];
    expect(recoveriesOf(scenario, results)[0]!.seconds).toStrictEqual([seconds]);
  });
});
