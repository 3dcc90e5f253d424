import { assert, maxSafeNat, property } from "fast-check";
import { describe, expect, it } from "vitest";

import { StoreError } from "./errors.ts";
import { amountOrNull, formatCpu, formatMemory, parseCpuMillicores, parseMemoryBytes } from "./quantities.ts";

describe("Kubernetes quantities", () => {
  it.each([
    ["250m", 250],
    ["2", 2_000],
    ["0.5", 500],
    [".5", 500],
    ["1.1", 1_100],
    ["0.0001", 1],
    ["100n", 1],
    ["1500u", 2],
    ["1e1", 10_000],
    ["5E-1", 500],
    ["+3", 3_000],
    ["0", 0],
    [2, 2_000],
  ])("reads %s as %d millicores, rounding up", (text, millicores) => {
    expect(parseCpuMillicores(text)).toBe(millicores);
  });

  it.each([
    ["128Mi", 134_217_728],
    ["1G", 1_000_000_000],
    ["1.5Gi", 1_610_612_736],
    ["1k", 1_000],
    ["100m", 1],
    ["1Pi", 1_125_899_906_842_624],
    ["12e6", 12_000_000],
    ["3E2", 300],
    [1024, 1_024],
  ])("reads %s as %d bytes", (text, bytes) => {
    expect(parseMemoryBytes(text)).toBe(bytes);
  });

  it.each([
    "",
    " ",
    "-1",
    "1 Mi",
    "1mi",
    "1KI",
    "Mi",
    ".",
    "1.2.3",
    "0x10",
    "1e",
    "1e999",
    "NaN",
    "Infinity",
    "1Mi ",
    "9".repeat(41),
    "9999999999999999999",
    "1E",
  ])("refuses %j", (text) => {
    expect(() => parseMemoryBytes(text)).toThrow(StoreError);
  });

  it("refuses numbers that are no amounts, and what is neither text nor number", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1])
      expect(() => parseCpuMillicores(value)).toThrow(StoreError);
    expect(() => parseCpuMillicores({} as unknown as string)).toThrow(StoreError);
  });

  it("gives null where an amount is absent or unreadable", () => {
    expect(amountOrNull("1Gi", parseMemoryBytes)).toBe(1_073_741_824);
    for (const odd of [undefined, null, {}, "lots", -1])
      expect(amountOrNull(odd, parseCpuMillicores)).toBeNull();
  });

  it.each([
    [250, "250m"],
    [2_000, "2"],
    [0, "0"],
    [0.2, "1m"],
  ])("writes %d millicores as %s", (millicores, text) => {
    expect(formatCpu(millicores)).toBe(text);
  });

  it.each([
    [134_217_728, "128Mi"],
    [1_500, "1500"],
    [1_024, "1Ki"],
    [0, "0"],
  ])("writes %d bytes as %s", (bytes, text) => {
    expect(formatMemory(bytes)).toBe(text);
  });

  it("refuses to write what is no amount", () => {
    expect(() => formatCpu(Number.NaN)).toThrow("CPU in millicores must be an amount");
    expect(() => formatMemory(-1)).toThrow("memory in bytes must be an amount");
  });

  it("reads back what it writes", () => {
    assert(
      property(maxSafeNat(), (amount) => {
        expect(parseMemoryBytes(formatMemory(amount))).toBe(amount);
        expect(parseCpuMillicores(formatCpu(amount))).toBe(amount);
      }),
    );
  });
});
