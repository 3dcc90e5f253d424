import { assert, bigInt, constantFrom, property } from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseAmount,
  parseBitsPerSecond,
  parseBytes,
  parseMillicores,
  type BitsPerSecond,
  type Bytes,
  type Millicores,
} from "./quantity.ts";

describe("Kubernetes quantities", () => {
  it.each([
    ["250m", 250],
    ["2", 2_000],
    ["0.5", 500],
    [".5", 500],
    ["1.1", 1_100],
    ["1.005", 1_005],
    ["0.0001", 1],
    ["100n", 1],
    ["1500u", 2],
    ["1e1", 10_000],
    ["5E-1", 500],
    ["+3", 3_000],
    ["0", 0],
    ["-0", 0],
    [2, 2_000],
    [0.25, 250],
  ])("reads %s as %d millicores, rounding up", (text, millicores) => {
    expect(parseMillicores(text)).toBe(millicores);
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
  ])("reads %s as %d bytes, and as as many bits per second", (text, amount) => {
    expect(parseBytes(text)).toBe(amount);
    expect(parseBitsPerSecond(text)).toBe(amount);
  });

  it.each([
    ["1500m", 1.5],
    ["250n", 2.5e-7],
    ["0.1", 0.1],
    ["100M", 1e8],
    ["2Gi", 2 ** 31],
    ["12.345", 12.345],
    [4, 4],
  ])("reads %s as %d of its base unit, without rounding", (text, amount) => {
    expect(parseAmount(text)).toBe(amount);
  });

  it.each([
    "",
    " ",
    "-1",
    "-0.1",
    "1 Mi",
    " 1Mi",
    "1Mi ",
    "1mi",
    "1KI",
    "1gb",
    "Mi",
    ".",
    "+",
    "1.2.3",
    "0x10",
    "1e",
    "1e3k",
    "1e308",
    "1e999",
    "NaN",
    "Infinity",
    "9".repeat(41),
    "9999999999999999999",
    "8Pi",
    "99999999999Ei",
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    1e308,
    null,
    undefined,
    {},
    [1],
    true,
  ])("refuses %j", (value) => {
    for (const parse of [parseMillicores, parseBytes, parseBitsPerSecond, parseAmount])
      expect(parse(value)).toBeNull();
  });

  it("is exact: a decimal of any length is rounded up to the next whole amount", () => {
    const units = [
      ["", 1n],
      ["k", 1_000n],
      ["Ki", 1_024n],
      ["Gi", 1_024n ** 3n],
    ] as const;
    assert(
      property(
        bigInt(0n, 10n ** 12n),
        constantFrom(...units),
        constantFrom(0, 3, 9),
        (digits, unit, places) => {
          const [suffix, factor] = unit;
          const padded = digits.toString().padStart(places + 1, "0");
          const text = places === 0 ? padded : `${padded.slice(0, -places)}.${padded.slice(-places)}`;
          const scale = 10n ** BigInt(places);
          const whole = (digits * factor + scale - 1n) / scale;
          const expected = whole <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(whole) : null;
          expect(parseBytes(`${text}${suffix}`)).toBe(expected);
        },
      ),
    );
  });
});

describe("units", () => {
  it("are told apart by the compiler, which takes plain numbers for all of them", () => {
    // @ts-expect-error thousandths of a core are no bytes
    const memory: Bytes | null = parseMillicores("1");
    // @ts-expect-error bytes are no bits per second
    const rate: BitsPerSecond | null = parseBytes("1");
    // @ts-expect-error bits per second are no thousandths of a core
    const cpu: Millicores | null = parseBitsPerSecond("1");
    const plain: Bytes = 1;
    expect([memory, rate, cpu, plain]).toEqual([1000, 1, 1, 1]);
  });
});
