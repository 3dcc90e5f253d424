import { expect, it } from "vitest";
import type { CellResult } from "../run/result.ts";
import { tiny } from "../run/testing/fakes.ts";
import { steadySection } from "./steady-section.ts";
import { result } from "./testing/results.ts";

function cells(seconds: Readonly<Record<string, readonly number[]>>, rttMs = 10): CellResult[] {
  return Object.entries(seconds).flatMap(([contender, trials]) =>
    trials.map((steadyAfterSeconds, trial) =>
      result(rttMs, contender as CellResult["contender"], trial + 1, { p95: 100, steadyAfterSeconds }),
    ),
  );
}

it("has a row for each point at which somebody took long, and says how many points there are", () => {
  const results = [
    ...cells({ default: [30, 30], isochrone: [90, 210] }),
    ...cells({ default: [30, 30], isochrone: [30, 40] }, 100),
  ];
  const text = steadySection(tiny(), results)!.text.replaceAll(/\s+/g, " ");
  expect(text).toContain("1 of 2 points; elsewhere nobody took more than 60.0 s on average");
  expect(text).toMatch(/rttMs 10.*30\.0.*150 \(90\.0 to 210\)/);
  expect(text).not.toContain("rttMs 100");
});

it("isn't there where nobody took long, or nobody waited", () => {
  expect(steadySection(tiny(), cells({ default: [30], isochrone: [40] }))).toBeNull();
  expect(steadySection(tiny(), [result(10, "default", 1, { p95: 100 })])).toBeNull();
});
