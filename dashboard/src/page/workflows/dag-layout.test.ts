import type { Channel, Workload } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { BOX, LABEL, layoutOf } from "./dag-layout.ts";

const workloads = (...names: string[]): Workload[] => names.map((name) => ({ name }) as unknown as Workload);
const channel = (source: string, target: string): Channel => ({ source, target }) as unknown as Channel;

describe("the layout of a workflow", () => {
  test("puts callers before callees, and no box upon another", () => {
    const { boxes, lines } = layoutOf(
      { workloads: workloads("a", "b", "c"), channels: [channel("a", "b"), channel("a", "c")] },
      "LR",
    );
    const [a, b, c] = boxes;
    expect(a!.x + BOX.width).toBeLessThan(b!.x);
    expect(Math.abs(b!.y - c!.y)).toBeGreaterThanOrEqual(BOX.height);
    expect(lines).toHaveLength(2);
    expect(lines[0]!.path).toMatch(/^M [\d.]+ [\d.]+( C [\d., ]+)+$/);
  });

  test("has room for the figure of each line, beside all others and all boxes", () => {
    const names = ["a", "b", "c", "d"];
    const { boxes, lines } = layoutOf(
      {
        workloads: workloads(...names),
        channels: [
          channel("a", "b"),
          channel("a", "c"),
          channel("a", "d"),
          channel("b", "d"),
          channel("c", "d"),
        ],
      },
      "LR",
    );
    const rooms = [
      ...boxes.map(({ x, y }) => ({ x, y, ...BOX })),
      ...lines.map(({ label }) => ({ ...label, ...LABEL })),
    ];
    for (const [index, a] of rooms.entries())
      for (const b of rooms.slice(index + 1))
        expect(
          Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2,
        ).toBe(true);
  });

  test("stands circles, calls to oneself, strangers and names of any kind", () => {
    const names = ["__proto__", "a<b>", "constructor"];
    const { boxes, lines } = layoutOf(
      {
        workloads: workloads(...names),
        channels: [
          channel("__proto__", "a<b>"),
          channel("a<b>", "__proto__"),
          channel("a<b>", "a<b>"),
          channel("a<b>", "nobody"),
          channel("constructor", "a<b>"),
        ],
      },
      "TB",
    );
    expect(boxes.map(({ name }) => name)).toEqual(names);
    expect(lines).toHaveLength(3);
  });

  test("of nothing is nothing", () => {
    expect(layoutOf({ workloads: [], channels: [] }, "LR")).toMatchObject({ boxes: [], lines: [] });
  });
});
