import { describe, expect, test } from "vitest";
import * as format from "./format.ts";

describe("figures", () => {
  test.each([
    [
      format.milliseconds,
      [0.05, 0.5, 12.34, 123.4, 12_345, null],
      ["50 µs", "0.5 ms", "12.3 ms", "123 ms", "12.3 s", "–"],
    ],
    [format.percent, [0, 0.0001, 0.123, 1, undefined], ["0 %", "< 0.1 %", "12.3 %", "100 %", "–"]],
    [format.memory, [512, 96 * 2 ** 20, 3.5 * 2 ** 30], ["512 B", "96 MiB", "3.5 GiB"]],
    [format.bytesPerSecond, [0, 1500, 2.5e9], ["0 B/s", "1.5 kB/s", "2.5 GB/s"]],
    [format.bitsPerSecond, [1e9, Number.NaN], ["1 Gbit/s", "–"]],
    [format.count, [999, 9999, 1_234_567], ["999", "9\u202f999", "1.2 M"]],
    [format.cpu, [18.6, 2500], ["18.6 m", "2.5 cores"]],
    [format.age, [0.4, 8.2, 200, 9000, 200_000], ["now", "8 s", "3 min", "2.5 h", "2 d"]],
    [format.figure, [0, 1.005, 10, 99.96, 12_345], ["0", "1", "10", "100", "12\u202f345"]],
  ] as const)("%o", (show, values, texts) => {
    expect(values.map((value) => show(value as number | null))).toEqual(texts);
  });

  test("times are of today, or have their date", () => {
    const now = new Date(2026, 0, 2, 12).getTime();
    expect(format.clockTime(new Date(2026, 0, 2, 9, 5, 1).getTime(), now)).toBe("09:05:01");
    expect(format.clockTime(new Date(2026, 0, 1, 9, 5, 1).getTime(), now)).toBe("2026-01-01 09:05:01");
    expect(format.clockTime("nonsense", now)).toBe("–");
  });

  test("one is singular", () =>
    expect([format.plural(1, "node"), format.plural(0, "node")]).toEqual(["1 node", "0 nodes"]));
});
