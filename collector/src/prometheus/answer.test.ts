import { describe, expect, test } from "vitest";
import { readAnswer } from "./answer.ts";
import { PrometheusError } from "./errors.ts";

const TIMES = { fromMs: 0, toMs: 2_000_000_000_000 };

const answer = (result: unknown, more: object = {}): string =>
  JSON.stringify({ status: "success", data: { resultType: "matrix", result }, ...more });

function codeOf(body: string): string {
  try {
    readAnswer(body, "http://prometheus", TIMES);
    return "taken";
  } catch (error) {
    return error instanceof PrometheusError ? error.code : String(error);
  }
}

describe("readAnswer", () => {
  test("gives metrics, labels and samples in milliseconds, and the server's warnings", () => {
    const body = answer(
      [
        {
          metric: { __name__: "a_total", pod: "p" },
          values: [
            [1700000000.123, "7"],
            [1700000015.001, "1.5e3"],
          ],
        },
      ],
      { warnings: ["store is away"] },
    );
    expect(readAnswer(body, "s", TIMES)).toEqual({
      series: [
        {
          metric: "a_total",
          labels: { pod: "p" },
          samples: [
            { timeMs: 1_700_000_000_123, value: 7 },
            { timeMs: 1_700_000_015_001, value: 1500 },
          ],
        },
      ],
      unreadable: 0,
      warnings: ["store is away"],
    });
  });

  test("leaves out and counts what can't be read, and keeps the rest", () => {
    const good = {
      metric: { __name__: "a" },
      values: [[1, "2"], [2, "NaN"], [3, "+Inf"], ["4", "5"], [5, 6], [6, ""], 7],
    };
    const others = [
      null,
      { metric: { __name__: "a", b: 1 }, values: [] },
      { metric: [], values: [[1, "2"]] },
      { metric: { __name__: "native" }, histograms: [] },
      { metric: { pod: "nameless" }, values: [[1, "2"]] },
    ];
    const { series, unreadable } = readAnswer(answer([good, ...others]), "s", TIMES);
    expect(series).toEqual([{ metric: "a", labels: {}, samples: [{ timeMs: 1000, value: 2 }] }]);
    expect(unreadable).toBe(6 + 5);
  });

  test.each([
    ["no finite number", "1e999"],
    ["before the range that was asked for", "996.9"],
    ["after it", "1101.1"],
    ["as far away as a clock can be", "1e300"],
    ["below zero", "-1700000000"],
  ])("leaves out and counts samples whose time is %s", (_, seconds) => {
    const body = answer([{ metric: { __name__: "a" }, values: [[1000, "1"], "x", [1050, "2"]] }]);
    const { series, unreadable } = readAnswer(body.replace('"x"', `[${seconds},"7"]`), "s", {
      fromMs: 1_000_000 - 2_000,
      toMs: 1_100_000,
    });
    expect(series.flatMap(({ samples }) => samples)).toEqual([
      { timeMs: 1_000_000, value: 1 },
      { timeMs: 1_050_000, value: 2 },
    ]);
    expect(unreadable).toBe(1);
  });

  test("leaves out and counts samples that no counter and no size has, and those out of order", () => {
    const values = [
      ...["-1", "Inf", "-Inf", "NaN", " ", "x"].map((text, i) => [i + 1, text]),
      [8, "1"],
      [7, "2"],
      [8, "3"],
    ];
    const { series, unreadable } = readAnswer(answer([{ metric: { __name__: "a" }, values }]), "s", TIMES);
    expect(series.flatMap(({ samples }) => samples)).toEqual([{ timeMs: 8000, value: 1 }]);
    expect(unreadable).toBe(8);
  });

  test("keeps a few warnings of however many", () => {
    expect(readAnswer(answer([], { warnings: Array(1000).fill("away") }), "s", TIMES).warnings).toHaveLength(
      10,
    );
  });

  test.each([
    ["truncated JSON", answer([]).slice(0, -3)],
    ["a page of a proxy", "<html>login</html>"],
    ["an error with status 200", JSON.stringify({ status: "error", errorType: "internal", error: "x" })],
    [
      "a vector, which no range selector gives",
      JSON.stringify({ status: "success", data: { resultType: "vector", result: [] } }),
    ],
    ["null", "null"],
    ["a result that is no list", answer({})],
  ])("%s is malformed", (_, body) => {
    expect(codeOf(body)).toBe("malformed");
  });
});
