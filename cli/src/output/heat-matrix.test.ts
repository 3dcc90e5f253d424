import { describe, expect, it } from "vitest";
import { heatMatrix } from "./heat-matrix.ts";
import type { PairFigure } from "./heat-matrix.ts";
import { canvasOn, visiblePainted } from "./heat.ts";
import type { Canvas } from "./heat.ts";

const NAMES = ["north-a", "north-b", "south-a"];
const FIGURES: Readonly<Record<string, PairFigure>> = {
  "north-a south-a": { ms: 250, text: "250.0!" },
  "south-a north-a": { ms: null, text: "lost" },
};
const figureOf = (source: string, target: string): PairFigure | null =>
  source === "north-b" ? null : (FIGURES[`${source} ${target}`] ?? { ms: 1, text: "1.0" });
const wide = (columns: number, depth: 8 | 24 = 24): Canvas => ({ columns, depth });

// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[38;([0-9;]+);48;([0-9;]+)m(.*?)\u001b\[0m/g;
const plain = (text: string): string => text.replaceAll(COLOUR, "$3");
const backOf = (text: string, cell: string): string | undefined =>
  [...text.matchAll(COLOUR)].find(([, , , inner]) => inner!.trim() === cell)?.[2];

describe("a matrix in heat colours", () => {
  it("has the colour of the step below each figure, and red alone for what is lost", () => {
    const text = heatMatrix(NAMES, figureOf, wide(120));
    expect(backOf(text, "250.0!")).toBe("2;253;234;96");
    expect(backOf(text, "1.0")).toBe("2;0;97;163");
    expect(backOf(text, "lost")).toBe("2;196;18;44");
    expect(plain(text).split("\n").slice(0, 4)).toEqual([
      "        north-a north-b south-a",
      "north-a             1.0  250.0!",
      "north-b       –               –",
      "south-a    lost     1.0        ",
    ]);
  });

  it("has numbers for names, then colours alone, then fewer nodes, as the terminal becomes narrower", () => {
    const lines = (columns: number): string[] =>
      plain(heatMatrix(NAMES, figureOf, wide(columns))).split("\n");
    expect(lines(30).slice(0, 3)).toEqual([
      "               1      2      3",
      "1 north-a           1.0 250.0!",
      "2 north-b      –             –",
    ]);
    expect(lines(18).slice(0, 2)).toEqual(["           1  2  3", "1 north-a         "]);
    expect(lines(15).at(-1)).toBe("1 more nodes don't fit into 15 columns; -o json has them");
    for (const columns of [18, 30, 120])
      for (const line of lines(columns).slice(0, 4)) expect(line.length).toBeLessThanOrEqual(columns);
  });

  it("takes the palette of 256 where there is no more", () => {
    expect(backOf(heatMatrix(NAMES, figureOf, wide(120, 8)), "lost")).toBe("5;160");
  });
});

function contrast(a: string, b: string): number {
  const light = (colour: string): number => {
    const [red, green, blue] = colour
      .split(";")
      .slice(1)
      .map((part) => {
        const share = Number(part) / 255;
        return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
}

it("is readable at every step", () => {
  const text = heatMatrix(NAMES, figureOf, wide(120));
  const pairs = [...text.matchAll(COLOUR)];
  expect(new Set(pairs.map(([, , back]) => back)).size).toBe(11);
  for (const [, ink, back] of pairs) expect(contrast(ink!, back!)).toBeGreaterThan(4.3);
});

describe("a canvas", () => {
  const depthOf = (depth: number) => (): number => depth;
  it.each([
    [{ isTTY: true, columns: 100, getColorDepth: depthOf(24) }, wide(100)],
    [{ isTTY: true, columns: 0, getColorDepth: depthOf(8) }, wide(80, 8)],
    [{ isTTY: true, columns: 100, getColorDepth: depthOf(4) }, null],
    [{ isTTY: true, columns: 100, getColorDepth: depthOf(1) }, null],
    [{ columns: 100, getColorDepth: depthOf(24) }, null],
  ])("of %j is %j", (stream, canvas) => {
    expect(canvasOn(stream)).toEqual(canvas);
  });
});

it("lets nothing through to the terminal but its own colours", () => {
  const ours = heatMatrix(["a", "b"], () => ({ ms: 3, text: "3.0" }), wide(80));
  expect(visiblePainted(ours)).toBe(ours);
  expect(visiblePainted("\u001b[2J\u001b]0;x\u0007\u001b[31m")).not.toContain("\u001b");
});
