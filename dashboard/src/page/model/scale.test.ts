import { describe, expect, test } from "vitest";
import {
  contrast,
  DEAD,
  INK,
  inkOn,
  legendOf,
  muted,
  NOTHING,
  rgbOf,
  rgbSteps,
  SCARCE,
  stepOf,
  zoneColours,
  type Rgb,
  type Theme,
} from "./scale.ts";

const THEMES: readonly Theme[] = ["light", "dark"];
const CARD: Readonly<Record<Theme, string>> = { light: "#ffffff", dark: "#171c22" };

const linear = (part: number): number =>
  part / 255 <= 0.040_45 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
type Matrix = readonly [Rgb, Rgb, Rgb];
const times = (matrix: Matrix, [x, y, z]: Rgb): Rgb =>
  matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Rgb;

/**
 * Transforms of linear light: normal sight; without M cones (Machado et al. 2009, severity 1); luminance
 * only.
 */
const SIGHTS: Readonly<Record<string, Matrix>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  deuteranope: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  grey: [
    [0.2126, 0.7152, 0.0722],
    [0.2126, 0.7152, 0.0722],
    [0.2126, 0.7152, 0.0722],
  ],
};
const TO_XYZ: Matrix = [
  [0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339 / 1.08883, 0.119192 / 1.08883, 0.9503041 / 1.08883],
];

function labOf(colour: Rgb, sight: Matrix): Rgb {
  const seen = times(sight, [linear(colour[0]), linear(colour[1]), linear(colour[2])]);
  const clipped = seen.map((part) => Math.min(Math.max(part, 0), 1)) as unknown as Rgb;
  const [x, y, z] = times(TO_XYZ, clipped).map((part) =>
    part > (6 / 29) ** 3 ? Math.cbrt(part) : part / (3 * (6 / 29) ** 2) + 4 / 29,
  ) as unknown as Rgb;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIE 1976 difference; about 2.3 is noticeable side by side. */
function difference(a: Rgb, b: Rgb, sight: Matrix): number {
  const [one, other] = [labOf(a, sight), labOf(b, sight)];
  return Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

const stepsOf = (theme: Theme): readonly string[] => legendOf("ms", theme).map(({ colour }) => colour);

describe("colours", () => {
  test("of latency go by decades", () => {
    expect([0, 0.5, 1, 9.9, 10, 199, 200, 1e6].map((ms) => stepOf(ms, "ms"))).toEqual([
      0, 1, 2, 4, 5, 8, 9, 9,
    ]);
  });

  test.each(THEMES)("are further from the background with each step (%s)", (theme) => {
    const contrasts = stepsOf(theme).map((colour) => contrast(colour, CARD[theme]));
    expect(contrasts).toEqual(contrasts.toSorted((a, b) => a - b));
    expect(contrasts[0]).toBeGreaterThan(1.2);
    expect(contrasts.at(-1)).toBeGreaterThan(10);
    expect(contrast(DEAD[theme], CARD[theme])).toBeGreaterThan(4.5);
  });

  describe.each(THEMES)("of the %s theme", (theme) => {
    const steps = rgbSteps(theme);

    test.each(Object.entries(SIGHTS))("have steps that are told apart by %s sight", (_name, sight) => {
      for (const [index, colour] of steps.slice(1).entries()) {
        expect(difference(steps[index]!, colour, sight)).toBeGreaterThan(6);
        const [before, after] = [labOf(steps[index]!, sight)[0], labOf(colour, sight)[0]];
        expect((after - before) * (theme === "light" ? -1 : 1)).toBeGreaterThan(5);
      }
    });

    test.each(["normal", "deuteranope"])("show what is lost as no latency, by %s sight", (name) => {
      for (const colour of [...steps, rgbOf(NOTHING[theme]), rgbOf(SCARCE[theme])])
        expect(difference(colour, rgbOf(DEAD[theme]), SIGHTS[name]!)).toBeGreaterThan(20);
    });

    test("are red for what is lost, and for nothing else", () => {
      const isRed = ([red, green, blue]: Rgb): boolean => red > 1.5 * Math.max(green, blue);
      expect(isRed(rgbOf(DEAD[theme]))).toBe(true);
      expect(steps.filter(isRed)).toEqual([]);
    });

    test("keep their luminance and lose colour where a value is estimated or old", () => {
      for (const colour of steps) {
        expect(
          Math.abs(labOf(muted(colour), SIGHTS["grey"]!)[0] - labOf(colour, SIGHTS["grey"]!)[0]),
        ).toBeLessThan(1);
        const chroma = (of: Rgb): number =>
          Math.hypot(labOf(of, SIGHTS["normal"]!)[1], labOf(of, SIGHTS["normal"]!)[2]);
        expect(chroma(muted(colour))).toBeLessThan(0.6 * chroma(colour));
      }
    });
  });

  test.each(THEMES)("can be written upon (%s)", (theme) => {
    for (const colour of [...stepsOf(theme), DEAD[theme]])
      expect(contrast(colour, inkOn(colour))).toBeGreaterThan(4.5);
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
