import { describe, expect, it } from "vitest";

import { murmur2, partitionOf } from "./partitioner.ts";

describe("Kafka's default partitioner", () => {
  // Source: testMurmur2 in org.apache.kafka.common.utils.UtilsTest.
  it.each([
    ["21", -973932308],
    ["foobar", -790332482],
    ["a-little-bit-long-string", -985981536],
    ["a-little-bit-longer-string", -1486304829],
    ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
    ["abc", 479470107],
  ])("hashes %s as Kafka does", (text, hash) => {
    expect(murmur2(Buffer.from(text))).toBe(hash);
  });

  it("hashes bytes within a larger buffer alike", () => {
    const buffer = Buffer.from("xxfoobarxx");
    expect(murmur2(buffer.subarray(2, 8))).toBe(-790332482);
  });

  it("clears the sign bit rather than taking the absolute value", () => {
    expect(partitionOf("21", 1000)).toBe((-973932308 & 0x7fffffff) % 1000);
    expect(partitionOf("21", 1000)).not.toBe(973932308 % 1000);
  });
});
