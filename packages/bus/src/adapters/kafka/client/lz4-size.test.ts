import { randomBytes } from "node:crypto";
import { lz4Compress } from "@platformatic/wasm-utils";
import { describe, expect, it } from "vitest";

import { lz4UnpackedBytes } from "./lz4-size.ts";

describe("the unpacked size of lz4", () => {
  it.each([
    ["nothing", Buffer.alloc(0)],
    ["one byte", Buffer.from("a")],
    ["a short text", Buffer.from("abcabcabcabcabcabcd")],
    ["zeros", Buffer.alloc(1_000_003)],
    ["noise", randomBytes(300_000)],
    ["both", Buffer.concat([randomBytes(70_000), Buffer.alloc(5_000_000), randomBytes(20)])],
  ])("is that of what was packed: %s", (_name, bytes) => {
    const packed = lz4Compress(bytes);
    expect(lz4UnpackedBytes(packed)).toBe(bytes.length);
    expect(lz4UnpackedBytes(Buffer.concat([packed, packed]))).toBe(2 * bytes.length);
  });

  it("is asked in vain of what is broken", () => {
    const packed = lz4Compress(Buffer.from("a text that is long enough to be packed"));
    expect(() => lz4UnpackedBytes(Buffer.from("no frame at all"))).toThrow(RangeError);
    expect(() => lz4UnpackedBytes(packed.subarray(0, packed.length - 8))).toThrow(RangeError);
  });
});
