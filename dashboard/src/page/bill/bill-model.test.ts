import { expect, test } from "vitest";
import { money, remarkText, zoneText } from "./bill-model.ts";

test.each([
  [null, "–"],
  [0, "0"],
  [0.0000001, "< 0.000001"],
  [0.01234, "0.012"],
  [0.1, "0.10"],
  [1234.5, "1,234.50"],
  [-12, "-12.00"],
  [-0.01234, "-0.012"],
])("money %s is %s", (value, text) => {
  expect(money(value)).toBe(text);
});

test("a zone that nodes lack, and why money is unknown, are said in words", () => {
  expect(zoneText({ provider: "aws", region: "us-east-1", zone: "us-east-1a" })).toBe("us-east-1a");
  expect(zoneText({ provider: "aws", region: "us-east-1", zone: null })).toBe("no zone (us-east-1)");
  expect(zoneText({ provider: "own", region: null, zone: null })).toBe("no zone (own)");
  const nothing = { perMonth: null, unpricedBytesPerSecond: 0 };
  expect(remarkText({ ...nothing, unknown: "no_bytes" })).toBe("nobody counts its bytes");
  expect(remarkText({ ...nothing, unknown: null })).toBe("");
});

test.each(["direction", "no_bytes", "no_pods", "no_price", "no_zone", "old"] as const)(
  "a line with money says which part has none, never that there is no price: %s",
  (unknown) => {
    for (const perMonth of [0, 1.85])
      expect(remarkText({ perMonth, unpricedBytesPerSecond: 2_000, unknown })).toBe(
        "without 2 kB/s that have no price",
      );
  },
);
