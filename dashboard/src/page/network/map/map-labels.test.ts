import { expect, test } from "vitest";
import { boxAround, labelBeside, labelsOf, type Box, type Label } from "./map-labels.ts";

function seededRandom(seed: number): { next(): number } {
  let state = seed;
  return {
    next: () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    },
  };
}

const widthOf = (text: string): number => text.length * 7.4;
const boxOf = ({ text, x, y }: Label): Box => boxAround(x, y - 11, widthOf(text), 14);
const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right - 0.001 &&
  b.left < a.right - 0.001 &&
  a.top < b.bottom - 0.001 &&
  b.top < a.bottom - 0.001;

test("no two names that are shown overlap, nor a name and a dot, however dense the map is", () => {
  const random = seededRandom(5);
  for (let run = 0; run < 120; run++) {
    const size = { width: 240 + random.next() * 900, height: 240 + random.next() * 400 };
    const spreadShare = random.next();
    const dots = Array.from({ length: 1 + Math.floor(random.next() * 120) }, (_, index) => ({
      text: `node-${"x".repeat(Math.floor(random.next() * 14))}${index}`,
      x: size.width * (0.5 + (random.next() - 0.5) * spreadShare),
      y: size.height * (0.5 + (random.next() - 0.5) * spreadShare),
      radius: 6 + random.next() * 40,
    }));
    const reserved = [boxAround(size.width / 2, size.height / 2, 40, 14)];
    const labels = labelsOf(dots, size, widthOf, reserved);
    const boxes = labels.map(boxOf);
    for (const [index, a] of boxes.entries()) {
      expect(a.left >= 0 && a.right <= size.width && a.top >= 0 && a.bottom <= size.height).toBe(true);
      for (const b of [...boxes.slice(index + 1), ...reserved]) expect(overlap(a, b)).toBe(false);
      for (const { x, y, radius } of dots)
        expect(overlap(a, boxAround(x - radius, y - radius, 2 * radius, 2 * radius))).toBe(false);
    }
  }
});

test("a name stands beside its dot where there is room, and has a line to it elsewhere", () => {
  const size = { width: 600, height: 400 };
  const alone = { text: "alone", x: 100, y: 100, radius: 8 };
  expect(labelsOf([alone], size, widthOf)).toEqual([{ text: "alone", x: 111, y: 104, line: null }]);
  const crowd = Array.from({ length: 7 }, (_, index) => ({ ...alone, text: `n-${index}`, x: 100 + index }));
  expect(labelsOf(crowd, size, widthOf).some(({ line }) => line !== null)).toBe(true);
});

test("a name without a free place is left out, and stays in the frame when it is pointed at", () => {
  const size = { width: 320, height: 220 };
  const crowd = Array.from({ length: 80 }, (_, index) => ({
    text: `node-${index}`,
    x: 300,
    y: 200,
    radius: 8,
  }));
  expect(labelsOf(crowd, size, widthOf).length).toBeLessThan(40);
  const { x } = labelBeside(crowd[0]!, widthOf("node-0"), size);
  expect(x >= 0 && x + widthOf("node-0") <= size.width).toBe(true);
});
