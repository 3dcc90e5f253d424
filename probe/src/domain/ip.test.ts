import { describe, expect, test } from "vitest";
import { familyOf, isUnusableTarget, parseAddress } from "./ip.ts";

const hex = (text: string): string | null => {
  const bytes = parseAddress(text);
  return bytes === null ? null : Buffer.from(bytes).toString("hex");
};

describe("addresses", () => {
  test.each([
    ["10.0.0.1", "00000000000000000000ffff0a000001", 4],
    ["::ffff:10.0.0.1", "00000000000000000000ffff0a000001", 4],
    ["::ffff:a00:1", "00000000000000000000ffff0a000001", 4],
    ["::", "00000000000000000000000000000000", 6],
    ["fd00::10.0.0.1", "fd00000000000000000000000a000001", 6],
    ["2001:DB8:0:0:1::1", "20010db8000000000001000000000001", 6],
    ["1:2:3:4:5:6:7:8", "00010002000300040005000600070008", 6],
    ["1::8", "00010000000000000000000000000008", 6],
  ])("%s is one of 16 bytes, whatever its spelling", (text, expected, family) => {
    expect(hex(text)).toBe(expected);
    expect(familyOf(parseAddress(text) ?? new Uint8Array(16))).toBe(family);
  });

  test.each([
    "",
    "localhost",
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "10.0.0.1 ",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7:8:9",
    "::1::",
    "[::1]",
    "12345::",
  ])("%j is none", (text) => {
    expect(parseAddress(text)).toBeNull();
  });

  test.each([
    ["0.0.0.0", true],
    ["0.1.2.3", true],
    ["224.0.0.1", true],
    ["255.255.255.255", true],
    ["::ffff:224.0.0.1", true],
    ["::", true],
    ["ff02::1", true],
    ["127.0.0.1", false],
    ["223.255.255.255", false],
    ["::1", false],
    ["fe80::1", false],
  ])("%s can't be the address of one host: %s", (text, unusable) => {
    expect(isUnusableTarget(parseAddress(text) ?? new Uint8Array(16))).toBe(unusable);
  });
});
