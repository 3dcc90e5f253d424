import { describe, expect, it } from "vitest";
import { parseBytes, parseMillicores, parseQuantity } from "./quantity.ts";

describe("quantities", () => {
  it.each([
    ["100m", 100],
    ["0.5", 500],
    ["2", 2000],
    [1, 1000],
    ["1.0005", 1001],
    ["1e-1", 100],
  ])("reads CPU %s as %i millicores", (text, millicores) => {
    expect(parseMillicores(text)).toBe(millicores);
  });

  it.each([
    ["128Mi", 134_217_728],
    ["1G", 1e9],
    ["512", 512],
  ])("reads memory %s as %i bytes", (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(["", "much", "-1", "1Xi", "NaN", null, {}])("refuses %s", (text) => {
    expect(parseQuantity(text)).toBeNull();
  });
});
