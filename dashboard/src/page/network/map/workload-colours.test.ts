import { describe, expect, test } from "vitest";
import { contrast } from "../../model/scale.ts";
import { colourOfMark, marksFor, shapeOfMark, WORKLOAD_COLOURS } from "./workload-colours.ts";

const CARDS = { light: "#ffffff", dark: "#171c22" } as const;
const names = Array.from({ length: 60 }, (_, index) => `shop/service-${index}`);

describe("marks of workloads", () => {
  test("can be told from the card in both themes, and from each other", () => {
    for (const theme of ["light", "dark"] as const) {
      expect(new Set(WORKLOAD_COLOURS[theme]).size).toBe(WORKLOAD_COLOURS.light.length);
      for (const colour of WORKLOAD_COLOURS[theme])
        expect(contrast(colour, CARDS[theme])).toBeGreaterThanOrEqual(3);
    }
  });

  test("are kept when workloads come and go, and don't depend on their order", () => {
    let marks = marksFor([], new Map());
    for (let count = 1; count <= names.length; count++) {
      const next = marksFor(names.slice(0, count), marks);
      for (const [name, mark] of marks) expect(next.get(name)).toBe(mark);
      marks = next;
    }
    expect(marksFor(names.slice(50), marks)).toEqual(marks);
    expect(marksFor(names.toReversed(), new Map())).toEqual(marksFor(names, new Map()));
  });

  test("are unique for 36 workloads, by colour for 12, and there is one for each of many", () => {
    const looks = (count: number): string[] =>
      [...marksFor(names.slice(0, count), new Map()).values()].map(
        (mark) => `${shapeOfMark(mark)} ${colourOfMark(mark, "light")}`,
      );
    expect(new Set(looks(12).map((look) => look.split(" ")[1])).size).toBe(12);
    expect(new Set(looks(36)).size).toBe(36);
    expect(looks(60)).not.toContain(expect.stringContaining("undefined"));
  });
});
