import { readdirSync, readFileSync } from "node:fs";
import { seededRandom, type Random } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { isNear, lastChange, type LinkChange, type PaneFacts } from "./link-change.ts";

/** A pane: answers in ms, and number of failed packets. */
type Pane = readonly [answersMs: readonly number[], failures?: number];

const four = (ms: number): Pane => [[ms, ms + 0.1, ms + 0.2, ms + 0.3]];
const many = (count: number, pane: Pane): Pane[] => Array.from({ length: count }, () => pane);
const SILENT: Pane = [[], 4];
const NO_DATA: Pane = [[]];

function factsOf([answersMs, failures = 0]: Pane, pane: number): PaneFacts {
  const sorted = answersMs.toSorted((a, b) => a - b);
  const count = sorted.length;
  const at = (part: number): number => sorted[Math.ceil(part * count) - 1]! / 1000;
  const rtt = count === 0 ? null : { count, low: at(0.25), median: at(0.5), high: at(0.75) };
  return { pane, failures, rtt };
}

const changeIn = (...panes: readonly Pane[]): LinkChange | null => lastChange(panes.map(factsOf));

describe("a cut", () => {
  test("begins with the first pane that nothing was answered in, after three losses", () => {
    const cut = { firstPane: 10, lastPane: null, isCut: true };
    expect(changeIn(...many(10, four(5)), [[], 2])).toBeNull();
    expect(changeIn(...many(10, four(5)), [[], 2], [[], 2])).toMatchObject(cut);
    expect(changeIn(...many(10, four(5)), SILENT)).toMatchObject(cut);
    expect(changeIn(...many(10, four(5)), ...many(10, SILENT))).toMatchObject(cut);
  });

  test("isn't told by a pane with some answers, nor by panes without data", () => {
    expect(changeIn(...many(10, four(5)), [[5], 9], [[5], 9])).toBeNull();
    expect(changeIn(...many(10, four(5)), ...many(10, NO_DATA))).toBeNull();
    expect(changeIn(...many(10, four(5)), [[], 2], ...many(10, NO_DATA))).toBeNull();
  });

  test("takes as many losses as no chance explains on a lossy link", () => {
    const lossy: Pane = [[5, 5, 5, 5, 5, 5, 5], 3];
    expect(changeIn(...many(10, lossy), [[], 10])).toBeNull();
    expect(changeIn(...many(10, lossy), [[], 12])).toMatchObject({ firstPane: 10, isCut: true });
  });

  test("that is as old as the window has no beginning", () => {
    expect(changeIn(...many(10, SILENT))).toMatchObject({ firstPane: null, lastPane: null, isCut: true });
    expect(changeIn([[], 2])).toBeNull();
  });

  test("ends with three answers, and is what is shown until then", () => {
    const before = [...many(10, four(5)), ...many(3, SILENT)];
    expect(changeIn(...before, [[5], 1])).toMatchObject({ firstPane: 10, lastPane: 12, isCut: true });
    expect(changeIn(...before, [[5], 1], [[5]])).toMatchObject({ firstPane: 10, lastPane: 12, isCut: true });
    expect(changeIn(...before, [[5]], [[5, 5]])).toMatchObject({
      firstPane: 13,
      lastPane: null,
      isCut: false,
    });
  });

  test("leaves its last losses behind, which time out after its end", () => {
    const before = [...many(10, four(5)), ...many(3, SILENT)];
    expect(changeIn(...before, [[5, 5, 5], 2])).toMatchObject({ firstPane: 13 });
    expect(changeIn(...before, [[5, 5, 5], 2], [[5, 5, 5], 1])).toMatchObject({ firstPane: 14 });
    expect(changeIn(...before, [[5, 5, 5], 2], [[5, 5, 5], 1], four(5))).toMatchObject({ firstPane: 15 });
    // A link that keeps losing as many packets is lossy, not cut.
    expect(changeIn(...before, ...many(5, [[5, 5, 5], 2]))).toMatchObject({ firstPane: 15 });
    expect(changeIn(...before, [[5], 2], four(5))).toMatchObject({ firstPane: 14, isCut: false });
  });
});

describe("a step", () => {
  test.each([
    ["up", 5, 85],
    ["down", 85, 5],
  ])("%s is told by two panes", (_, before, after) => {
    expect(changeIn(...many(14, four(before)), four(after))).toBeNull();
    expect(changeIn(...many(14, four(before)), four(after), four(after))).toMatchObject({
      firstPane: 14,
      lastPane: null,
      isCut: false,
    });
  });

  test("may begin within a pane", () => {
    expect(changeIn(...many(14, four(5)), [[5, 85, 85, 85]], four(85))).toMatchObject({ firstPane: 14 });
    expect(changeIn(...many(14, four(5)), [[5, 5, 5, 85]], four(85))).toBeNull();
  });

  test("takes more panes where few are known, and where some were like it", () => {
    expect(changeIn(...many(3, four(5)), ...many(2, four(85)))).toBeNull();
    expect(changeIn(...many(3, four(5)), ...many(3, four(85)))).toMatchObject({ firstPane: 3 });
    const spiky = [...many(6, four(5)), four(85), ...many(7, four(5))];
    expect(changeIn(...spiky, ...many(2, four(85)))).toBeNull();
    expect(changeIn(...spiky, ...many(3, four(85)))).toMatchObject({ firstPane: 14 });
  });

  test("is more than a quarter and half a millisecond", () => {
    const after = (from: number, to: number) => changeIn(...many(14, four(from)), ...many(6, four(to)));
    expect(after(80, 98)).toBeNull();
    expect(after(80, 105)).not.toBeNull();
    expect(after(0.2, 0.6)).toBeNull();
    expect(after(0.2, 1)).not.toBeNull();
    for (const [a, b] of [
      [0.08, 0.098],
      [0.0002, 0.0006],
    ] as const)
      expect([isNear(a, b), isNear(b, a)]).toEqual([true, true]);
    expect([isNear(0.08, 0.105), isNear(0.105, 0.08)]).toEqual([false, false]);
  });

  test("isn't one of a few answers", () => {
    const one = (ms: number): Pane => [[ms]];
    expect(changeIn(...many(14, one(5)), ...many(5, one(85)))).toBeNull();
    expect(changeIn(...many(14, one(5)), ...many(6, one(85)))).toMatchObject({ firstPane: 14 });
  });

  test("isn't a flap: where the delay moves all the time there is no other one", () => {
    const flaps = Array.from({ length: 30 }, (_, pane) => four(pane % 2 === 0 ? 5 : 85));
    for (let length = 1; length <= flaps.length; length++)
      expect(changeIn(...flaps.slice(0, length))).toBeNull();
  });

  test("goes when what was before it has left the window", () => {
    expect(changeIn(...many(3, four(5)), ...many(20, four(85)))).toMatchObject({ firstPane: 3 });
    expect(changeIn(...many(1, four(5)), ...many(20, four(85)))).toBeNull();
  });
});

/** Relative changes of the median between time slices for pairs of a published data set. */
function recordedNoise(prefix: string): number[] {
  const directory = new URL("../../../../experiments/scenarios/data/", import.meta.url);
  const slices = readdirSync(directory)
    .filter((name) => name.startsWith(prefix))
    .map((name) => readFileSync(new URL(name, directory), "utf8").trim().split(/\s+/).map(Number));
  return slices[0]!.flatMap((_, cell) => {
    const measured = slices
      .flatMap((slice) => (slice[cell]! > 0 ? [slice[cell]!] : []))
      .toSorted((a, b) => a - b);
    const middle = measured[(measured.length - 1) >> 1];
    return measured.length < 2 ? [] : measured.map((ms) => ms / middle!);
  });
}

/** False steps of 500 constant links, evaluated over a sliding window as in the aggregator. */
function falseSteps(noise: readonly number[], perPane: number, panes: number, random: Random): number {
  const drawn = (): number => noise[Math.floor(random.next() * noise.length)]!;
  let steps = 0;
  for (let link = 0; link < 500; link++) {
    const baseMs = 2 + 100 * random.next();
    const window: PaneFacts[] = [];
    for (let pane = 0; pane < 80; pane++) {
      window.push(factsOf([Array.from({ length: perPane }, () => baseMs * drawn())], pane));
      if (window.length > panes) window.shift();
      const medians = window.map(({ rtt }) => rtt!.median).toSorted((a, b) => a - b);
      const isSteady = isNear(window.at(-1)!.rtt!.median, medians[(medians.length - 1) >> 1]!);
      if (!isSteady && lastChange(window) !== null) steps++;
    }
  }
  return steps;
}

describe("recorded noise, 40,000 panes of links that don't change", () => {
  test.each([
    ["PlanetLab", "planetlab-10-", 4, 15, 0],
    ["PlanetLab", "planetlab-10-", 10, 30, 0],
    // Personal devices: 1 of 100 measurements takes 15 times the median, 1 of 10 three times.
    ["Seattle", "seattle-12-", 10, 30, 4],
  ])("%s (%s): %d answers a pane, %d panes, at most %d false steps", (_, prefix, perPane, panes, most) => {
    const noise = recordedNoise(prefix);
    expect(noise.length).toBeGreaterThan(200);
    expect(falseSteps(noise, perPane, panes, seededRandom(1))).toBeLessThanOrEqual(most);
  });
});
