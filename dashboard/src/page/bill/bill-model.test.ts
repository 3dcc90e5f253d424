import { expect, test } from "vitest";
import { money, reasonText, zoneText } from "./bill-model.ts";

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
  expect(reasonText("no_bytes")).toBe("nobody counts its bytes");
});
