import { describe, expect, it } from "vitest";
import type { SystemSettings } from "./settings.ts";
import { SYSTEM } from "../testing/system.ts";
import { GENERATED_CLASSES, generatedTasks } from "./generator.ts";
import { readTrace, skippedText } from "./trace.ts";
import { workloadOf } from "./workload.ts";

function row(start: number, end: number | string, over: Readonly<Record<number, string>> = {}): string {
  const fields = ["M1", "1", "j_1", "1", "Terminated", String(start), String(end), "50", "0.2"];
  return fields.map((field, at) => over[at] ?? field).join(",");
}
const good = Array.from({ length: 1_200 }, (_, at) => row(at, at + 5, { 7: String(10 + (at % 40)) }));

describe("a trace", () => {
  it("counts and skips rows that are of no use, and says so", () => {
    const bad = [
      row(2_000, 2_000),
      row(2_000, 1_999),
      row(2_001, "soon"),
      row(2_001, 2_005, { 8: "" }),
      row(2_001, 2_005, { 7: "NaN" }),
      row(2_001, 2_005, { 7: "-1" }),
      row(3, 9),
      "M1,1,j_1",
    ];
    const trace = readTrace([...good, ...bad].join("\n"), "my.csv");
    expect(trace.tasks).toHaveLength(1_200);
    expect(skippedText(trace)).toBe(
      "8 of 1208 rows left out: end before start 2, text for a number 4, time backwards 1, missing columns 1",
    );
  });

  it("has the 29 most frequent classes as services, and one for the rest", () => {
    const { classes, tasks } = readTrace(good.join("\n"), "my.csv");
    expect(classes).toHaveLength(30);
    expect(classes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
    expect(classes[29]!.share).toBeCloseTo(11 / 40, 9);
    expect(Math.max(...tasks.map(({ service }) => service))).toBe(29);
  });

  it("is refused with too few usable rows, and says what was left out", () => {
    expect(() => readTrace([row(1, 2), row(5, 4)].join("\n"), "my.csv")).toThrow(
      "my.csv must have 1000 usable rows or more, got 1; 1 of 2 rows left out: end before start 1",
    );
    expect(() => readTrace("", "my.csv")).toThrow("my.csv must have 1000 usable rows or more, got 0");
  });
});

describe("generated tasks", () => {
  const tasks = generatedTasks(19_109, 1);
  const share = (is: (at: number) => boolean): number =>
    tasks.filter((_, at) => is(at)).length / tasks.length;

  it("have the trace's shares of classes", () => {
    for (const [service, { share: wanted }] of GENERATED_CLASSES.slice(0, 8).entries())
      expect(Math.abs(share((at) => tasks[at]!.service === service) / wanted - 1)).toBeLessThan(0.2);
  });

  it("come together by class and time as in the trace", () => {
    // Probability of equal classes at distances 1, 5 and 50 of the trace: 0.379, 0.240, 0.140.
    const same = (distance: number): number =>
      share((at) => at >= distance && tasks[at]!.service === tasks[at - distance]!.service);
    expect([same(1), same(5), same(50)]).toEqual([
      expect.closeTo(0.379, 1),
      expect.closeTo(0.24, 1),
      expect.closeTo(0.14, 1),
    ]);
  });

  it("are the same for the same seed", () => {
    expect(generatedTasks(100, 2)).toEqual(generatedTasks(100, 2));
    expect(generatedTasks(100, 2)).not.toEqual(generatedTasks(100, 3));
  });
});

describe("requests", () => {
  const of = (over: Partial<SystemSettings> = {}, run = 0) =>
    workloadOf({ ...SYSTEM, ...over }, 1, run, null).arrivals;
  const rate = (from: number, to: number, over: Partial<SystemSettings>): number =>
    of({ ...over, seconds: 1_000 }).filter(({ at }) => at >= from && at < to).length / (to - from);

  it("are as many as the rate wants, in time, with a deadline that can be met", () => {
    const arrivals = of();
    expect(arrivals).toHaveLength(SYSTEM.perSecond * SYSTEM.seconds);
    expect(arrivals.map(({ id }) => id)).toEqual(arrivals.map((_, at) => at));
    expect(arrivals.every(({ at }, k) => at >= (arrivals[k - 1]?.at ?? 0) && at <= SYSTEM.seconds)).toBe(
      true,
    );
    const met = arrivals.filter(({ at, workSeconds, deadline }) => at + workSeconds <= deadline);
    expect(met.length / arrivals.length).toBeGreaterThan(0.99);
  });

  it("swing with their pattern: P3 twice as fast as P1", () => {
    expect(rate(0, 125, { pattern: "P1" })).toBeGreaterThan(1.3 * rate(125, 250, { pattern: "P1" }));
    expect(rate(0, 62, { pattern: "P3" })).toBeGreaterThan(1.3 * rate(63, 125, { pattern: "P3" }));
  });

  it("reach a hot site in its part, and others in equal ones", () => {
    const part = (site: number, hotShare: number): number => {
      const arrivals = of({ hotShare });
      return arrivals.filter((one) => one.site === site).length / arrivals.length;
    };
    expect(part(0, 0.5)).toBeCloseTo(0.5, 1);
    expect(part(3, 0.5)).toBeCloseTo(0.125, 1);
    expect(part(0, 0)).toBeCloseTo(0.2, 1);
  });

  it("differ between runs, and repeat a trace that is too short", () => {
    expect(of({}, 1)).not.toEqual(of());
    const short = readTrace(good.join("\n"), "my.csv");
    expect(workloadOf({ ...SYSTEM, seconds: 500 }, 1, 0, short).arrivals).toHaveLength(6_000);
  });
});
