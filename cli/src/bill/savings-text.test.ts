import type { Savings, SavingsOption } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { savingsText } from "./savings-text.ts";

const option = (fields: Partial<SavingsOption>): SavingsOption => ({
  savedPerMonth: 0,
  roundTripMs: 4,
  roundTripChangeMs: 0,
  zones: null,
  headroomRatio: null,
  isAdvised: false,
  reason: "there is nothing to combine",
  services: [],
  moves: [],
  commands: [],
  ...fields,
});
const SAVINGS: Savings = {
  observedAt: "2026-01-01T00:00:00Z",
  currency: "USD",
  monthSeconds: 2_628_000,
  trouble: null,
  leftOut: 2,
  lines: [
    {
      kind: "service",
      namespace: "shop",
      name: "api",
      workflow: "flow",
      perMonth: 24,
      roundTripMs: 5,
      routing: option({
        savedPerMonth: 12,
        roundTripChangeMs: -1.234,
        zones: 2,
        headroomRatio: 0.254,
        isAdvised: true,
        reason: null,
        commands: ["kubectl patch"],
      }),
      moves: option({ savedPerMonth: -3, roundTripChangeMs: 2, zones: 1, reason: "it would cost more" }),
      both: option({ savedPerMonth: null, roundTripChangeMs: null }),
    },
  ],
};

const cellsOf = (line: string): string[] => line.trim().split(/ {2,}/);

describe("savings as text", () => {
  test("of traffic without any price are no table of zeros", () => {
    const lines = SAVINGS.lines.map((line) => ({ ...line, perMonth: null }));
    expect(savingsText({ ...SAVINGS, lines }, false)).toMatch(/\n\nnothing has a price; /);
    expect(savingsText({ ...SAVINGS, lines }, true)).toContain("unknown cost today");
  });

  test("have a line each, with what isn't advised in parentheses", () => {
    const [head, lines, , left] = savingsText(SAVINGS, false).split("\n\n");
    expect(head).toBe("savings of 2026-01-01T00:00:00Z, USD a month");
    expect(cellsOf(lines!.split("\n")[1]!)).toEqual([
      "service",
      "shop/api",
      "24.00",
      "12.00",
      "(-3.00)",
      "–",
    ]);
    expect(left).toBe("2 workflows and Services are left out");
  });

  test("of one have risks, reasons, and the commands of what is advised", () => {
    const [, whole] = savingsText(SAVINGS, true).split("\n\n");
    const [title, , routing, moves, both, ...commands] = whole!.split("\n");
    expect(title).toBe("service shop/api of workflow flow: 24.00 USD today, mean round trip 5 ms");
    expect(cellsOf(routing!)).toEqual(["stay in zone", "12.00", "-1.23 ms", "2", "25 %", "yes"]);
    expect(cellsOf(moves!)).toEqual(["move pods", "-3.00", "+2 ms", "1", "–", "no: it would cost more"]);
    expect(cellsOf(both!).slice(0, 3)).toEqual(["both", "–", "–"]);
    expect(commands).toEqual(["stay in zone:", "  kubectl patch"]);
  });

  test("of no traffic say so", () => {
    expect(savingsText({ ...SAVINGS, lines: [] }, false)).toMatch(/\n\nno traffic$/);
  });
});
