import { describe, expect, test } from "vitest";
import { figuresText, nextFigures, sameFigures, withinLimit, type AreaFigures } from "./figures.ts";
import { areaPairOf } from "./areas.ts";

const figures = (networkCost: number, more: Partial<AreaFigures> = {}): AreaFigures => ({
  networkCost,
  capacity: null,
  allocated: 0n,
  ...more,
});

const inputs = {
  costsMs: new Map<string, number>(),
  capacities: new Map<string, number>(),
  allocated: new Map<string, bigint>(),
  written: new Map<string, AreaFigures>(),
  unitMs: 1,
  capacityTolerance: 0.1,
  isHeld: () => true,
};

describe("what the object should say", () => {
  test("of a pair that is not measured now: what was written, with what pods claim now", () => {
    const written = new Map([["zone\na\nb", figures(7, { capacity: 5e9, allocated: 3n })]]);
    const allocated = new Map([["zone\na\nb", 8n]]);
    expect([...nextFigures({ ...inputs, written, allocated })]).toEqual([
      ["zone\na\nb", figures(7, { capacity: 5e9, allocated: 8n })],
    ]);
    expect(nextFigures({ ...inputs, written, isHeld: () => false }).size).toBe(0);
  });

  test("never of a pair whose cost nobody knows, whatever bandwidth it has", () => {
    const key = "zone\na\nb";
    const known = { capacities: new Map([[key, 1e9]]), allocated: new Map([[key, 5n]]) };
    expect(nextFigures({ ...inputs, ...known }).size).toBe(0);
  });

  test("leaves claims out while they aren't known and nothing was written", () => {
    const next = nextFigures({ ...inputs, costsMs: new Map([["zone\na\nb", 3]]), allocated: null });
    expect(next.get("zone\na\nb")).toEqual(figures(3, { allocated: null }));
  });

  test("leaves whole kinds out that would make the object too large", () => {
    const many = new Map<string, AreaFigures>([["region\nw\ne", figures(1)]]);
    for (let index = 0; index < 5; index++) many.set(`segment\ns\nt${index}`, figures(1));
    many.set("zone\na\nb", figures(1));
    const { figures: kept, leftOut } = withinLimit(many, 5);
    expect([...kept.keys()]).toEqual(["region\nw\ne", "zone\na\nb"]);
    expect(leftOut).toEqual(["segment"]);
    expect(withinLimit(many, 7).leftOut).toEqual([]);
  });
});

describe("figures are the same", () => {
  const text = (map: Map<string, AreaFigures>) =>
    figuresText([...map].map(([key, value]) => [areaPairOf(key), value] as const));
  const one = new Map([
    ["zone\na\nb", figures(7)],
    ["region\nw\ne", figures(9)],
  ]);

  test("in any order", () => {
    const turned = new Map([...one].toReversed());
    expect(sameFigures(one, turned)).toBe(true);
    expect(text(one)).toBe(text(turned));
  });

  test.each([
    ["cost", { networkCost: 8 }],
    ["capacity", { capacity: 1 }],
    ["claims", { allocated: 1n }],
  ])("unless the %s differs", (_, more) => {
    const other = new Map([...one, ["zone\na\nb", figures(7, more)] as const]);
    expect(sameFigures(one, other)).toBe(false);
    expect(text(one)).not.toBe(text(other));
  });
});
