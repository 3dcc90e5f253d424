// Some draws of `npm run soak -- figures`, compared with their known truth.
import { describe, expect, test } from "vitest";
import { CHANNEL_SOURCES, drawOf, STRAYS, USAGE_SOURCES, type Draw } from "../harness/figures/draw.ts";
import { expectedFigures } from "../harness/figures/expected.ts";
import { runDraw } from "../harness/figures/run-draw.ts";

/** Covers all kinds of sources, and (37) a restarted collector that forgets ended containers. */
const SEEDS = [1, 2, 6, 9, 29, 31, 37, 49];

describe("published figures", () => {
  test.each(SEEDS)("of draw %i are those of its truth, within 1 %", async (seed) => {
    const { mistakes, compared } = await runDraw(drawOf(seed));
    expect(mistakes).toEqual([]);
    expect(compared).toBeGreaterThan(5);
  });

  test("of all kinds of sources are among the draws", () => {
    const draws = SEEDS.map(drawOf);
    const has = (check: (draw: Draw) => boolean): boolean => draws.some(check);
    const missing = [
      ...CHANNEL_SOURCES.filter(
        (name) => !has(({ channels }) => channels.some(({ sources }) => sources.includes(name))),
      ),
      ...USAGE_SOURCES.filter((name) => !has(({ nodes }) => nodes.some(({ usage }) => usage === name))),
      ...["configured", "detected"].filter(
        (name) =>
          !has(
            ({ other, clusterNames }) =>
              other !== null && clusterNames.length > 0 === (name === "configured"),
          ),
      ),
      ...STRAYS.filter((name) => !has(({ strays }) => strays.includes(name))),
    ];
    expect(missing).toEqual([]);
  });
});

describe("the comparison", () => {
  test("finds what is 2 % off, what is missing, and what nobody told", async () => {
    const draw = drawOf(1);
    const truth = expectedFigures(draw);
    const numbers = [...truth].flatMap(([name, value]) =>
      typeof value === "number" && value > 0 ? [[name, value] as const] : [],
    );
    const [[off, value], [unexpected]] = numbers as [(typeof numbers)[0], (typeof numbers)[0]];
    truth.set(off, value * 1.02);
    truth.delete(unexpected);
    truth.set("channel nobody -> nowhere bytesPerSecond", 1);
    const { mistakes } = await runDraw(draw, truth);
    expect(mistakes.map((text) => text.slice(0, text.indexOf(":")))).toEqual([
      off,
      "channel nobody -> nowhere bytesPerSecond",
      unexpected,
    ]);
  });
});
