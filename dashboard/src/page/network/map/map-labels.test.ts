import { expect, test } from "vitest";
import { labelsOf, type Label } from "./map-labels.ts";

const size = { width: 600, height: 400 };

function boxOf({ text, x, y }: Label) {
  return { left: x, right: x + text.length * 6.9, top: y - 11, bottom: y + 3 };
}

test("names stand beside their dots where there is room, and have a line to them elsewhere", () => {
  const dots = [
    { text: "alone", x: 100, y: 100 },
    ...["one", "two", "three", "four"].map((text, index) => ({
      text,
      x: 560 + index * 4,
      y: 200 + index * 2,
    })),
  ];
  const labels = labelsOf(dots, size);
  expect(labels.find(({ text }) => text === "alone")).toMatchObject({ x: 111, line: null });
  expect(labels.filter(({ line }) => line !== null).length).toBeGreaterThan(0);
  const boxes = labels.map(boxOf);
  for (const [index, a] of boxes.entries()) {
    expect(a.left >= 0 && a.right <= size.width && a.top >= 0 && a.bottom <= size.height).toBe(true);
    for (const b of boxes.slice(index + 1))
      expect(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).toBe(false);
    for (const { x, y } of dots) expect(x > a.left && x < a.right && y > a.top && y < a.bottom).toBe(false);
  }
});

test("where nothing is free a name is shown all the same", () => {
  const crowd = Array.from({ length: 80 }, (_, index) => ({ text: `node-${index}`, x: 300, y: 200 }));
  expect(labelsOf(crowd, { width: 320, height: 220 })).toHaveLength(80);
});
