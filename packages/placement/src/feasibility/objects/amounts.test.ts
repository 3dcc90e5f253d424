import { describe, expect, test } from "vitest";
import { exactAmounts, exactQuantity, wholeUnits } from "./amounts.ts";

describe("quantities", () => {
  test.each([
    ["1", 1_000_000_000n],
    ["100m", 100_000_000n],
    ["0.1", 100_000_000n],
    [".5", 500_000_000n],
    ["2.", 2_000_000_000n],
    ["1e-1", 100_000_000n],
    ["1E3", 1_000_000_000_000n],
    ["1E", 10n ** 27n],
    ["1.5Gi", 1_610_612_736n * 10n ** 9n],
    ["64Mi", 67_108_864n * 10n ** 9n],
    ["8000k", 8_000_000n * 10n ** 9n],
    ["5n", 5n],
    ["1u", 1_000n],
    ["-2", -2_000_000_000n],
    ["+2", 2_000_000_000n],
    [3, 3_000_000_000n],
    ["0.0000000001", 1n],
    ["", null],
    [".", null],
    ["1 Gi", null],
    ["1Ki5", null],
    ["abc", null],
    [null, null],
    [Number.NaN, null],
  ])("%j is %s billionths", (text, billionths) => {
    expect(exactQuantity(text)).toBe(billionths);
  });

  test("sums are exact before they are rounded up to whole units", () => {
    const amounts = exactAmounts({
      cpu: "0.1",
      memory: "0.5",
      "example.com/gpu": "1",
      pods: "3",
      storage: "1Gi",
    });
    amounts.set("cpu", amounts.get("cpu")! + exactQuantity("0.2")!);
    expect(wholeUnits(amounts)).toEqual(
      new Map([
        ["cpu", 300],
        ["memory", 1],
        ["example.com/gpu", 1],
      ]),
    );
    expect(wholeUnits(exactAmounts({ cpu: "0.0001" })).get("cpu")).toBe(1);
  });

  // Expected values are Quantity.MilliValue and Quantity.Value of k8s.io/apimachinery 0.35, except the last
  // CPU: its -1000 is no amount.
  test.each([
    ["1e308", 0, 0],
    ["100e306", 0, 0],
    ["1E", 0, 10 ** 18],
    ["1e19", 0, 0],
    ["9223372036854775", Number("9223372036854775000"), Number("9223372036854775")],
    ["99999999999Ei", 0, 2 ** 63],
  ])("%s is %d millicores and %d bytes to kube-scheduler, which counts in int64", (amount, cpu, bytes) => {
    expect(wholeUnits(exactAmounts({ cpu: amount, memory: amount }))).toEqual(
      new Map([
        ["cpu", cpu],
        ["memory", bytes],
      ]),
    );
  });
});
