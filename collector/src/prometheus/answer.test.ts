import { describe, expect, test } from "vitest";
import { readAnswer } from "./answer.ts";
import { PrometheusError } from "./errors.ts";

const answer = (result: unknown, more: object = {}): string =>
  JSON.stringify({ status: "success", data: { resultType: "matrix", result }, ...more });

function codeOf(body: string): string {
  try {
    readAnswer(body, "http://prometheus");
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
    expect(readAnswer(body, "s")).toEqual({
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
    const { series, unreadable } = readAnswer(answer([good, ...others]), "s");
    expect(series).toEqual([{ metric: "a", labels: {}, samples: [{ timeMs: 1000, value: 2 }] }]);
    expect(unreadable).toBe(6 + 5);
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
