import { describe, expect, test } from "vitest";
import { colourOf, contrast, INK, legendOf, rgbOf, stepOf, zoneColours, type Theme } from "./scale.ts";

const THEMES: readonly Theme[] = ["light", "dark"];

describe("colours", () => {
  test("of latency go by decades, and an unusually slow link is the last one, red", () => {
    expect([0, 0.5, 1, 9.9, 10, 199, 200, 1e6].map((ms) => stepOf(ms, "ms"))).toEqual([
      0, 1, 2, 4, 5, 8, 9, 9,
    ]);
    for (const theme of THEMES) {
      const [red, green, blue] = rgbOf(colourOf(400, "ms", theme));
      expect(red).toBeGreaterThan(1.5 * Math.max(green, blue));
    }
  });

  test.each(THEMES)("can be written upon (%s)", (theme) => {
    for (const { colour } of legendOf("ms", theme)) expect(contrast(colour, INK[theme])).toBeGreaterThan(4.5);
    const zones = zoneColours(
      Array.from({ length: 10 }, (_, index) => `z${index}`),
      theme,
    );
    for (const colour of zones.values()) expect(contrast(colour, INK[theme])).toBeGreaterThan(4.5);
  });

  test("of zones don't depend on the order", () => {
    expect(zoneColours(["b", "a", "b"], "light")).toEqual(zoneColours(["a", "b"], "light"));
  });

  test("the legend begins at nothing and rises", () => {
    const [first, ...rest] = legendOf("loss", "dark").map(({ from }) => from);
    expect(first).toBeNull();
    expect(rest).toEqual(rest.toSorted((a, b) => a! - b!));
  });
});
