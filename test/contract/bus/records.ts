import { expect, it } from "vitest";
import { encode, numbered, record } from "./harness.ts";
import type { BusHarness } from "./harness.ts";

export function describeRecords(under: BusHarness): void {
  it("preserves headers, empty values and 1 MiB values byte by byte", async () => {
    const member = await under.collect();
    const big = Uint8Array.from({ length: 1024 * 1024 }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
    const headers = { "isochrone-source": "node-ä", "content-type": "application/x-protobuf", empty: "" };
    await under.bus.publish(under.topic, [
      { key: "node-a", value: new Uint8Array(0), headers },
      { key: "node-a", value: big, headers: {} },
    ]);
    await under.waitFor(() => expect(member.records).toHaveLength(2));
    const [first, second] = member.records;
    expect(first!.value.byteLength).toBe(0);
    expect(first!.headers).toEqual(headers);
    expect(first!.key).toBe("node-a");
    expect(Buffer.compare(second!.value, big)).toBe(0);
    expect(second!.headers).toEqual({});
  });

  it("delivers a tombstone as an empty value, in its place among the values of its key", async () => {
    const tombstone = { key: "node-a", value: new Uint8Array(0), headers: { why: "expired" } };
    await under.bus.publish(under.topic, [record("node-a", "1"), tombstone, record("node-a", "2")]);
    const member = await under.collect();
    await under.waitFor(() => expect(member.texts()).toEqual(["1", "", "2"]));
    expect(member.records[1]).toMatchObject({ key: "node-a", headers: { why: "expired" } });
    expect(member.records[1]!.value).toBeInstanceOf(Uint8Array);
  });

  it("carries copies: neither a publisher's nor a consumer's later change of the bytes is seen by others", async () => {
    const value = encode("right");
    await under.bus.publish(under.topic, [{ key: "node-a", value, headers: {} }]);
    value.fill(0);
    const first = await under.collect();
    await under.waitFor(() => expect(first.texts()).toEqual(["right"]));
    first.records[0]!.value.fill(0);
    const second = await under.collect();
    await under.waitFor(() => expect(second.texts()).toEqual(["right"]));
  });

  it("refuses to publish and to subscribe after close, for good", async () => {
    await under.bus.close();
    await under.bus.close();
    const refusal = { name: "BusError", code: "closed", retryable: false };
    await expect(under.bus.publish(under.topic, [record("node-a", "x")])).rejects.toMatchObject(refusal);
    await expect(under.collect()).rejects.toMatchObject(refusal);
    await expect(under.bus.partitionCount(under.topic)).rejects.toMatchObject(refusal);
  });

  it("tells how many partitions a topic has", async () => {
    expect(await under.bus.partitionCount(under.topic)).toBe(under.capabilities.partitions);
  });

  it("tells with each batch where its partition ends", async () => {
    const ends: (number | null)[] = [];
    await under.bus.publish(
      under.topic,
      numbered(10).map((text) => record("node-a", text)),
    );
    await under.collect({
      maxBatchRecords: 4,
      onBatch: async ({ endOffset }) => void ends.push(endOffset),
    });
    await under.waitFor(() => expect(ends).toHaveLength(3));
    expect(ends).toEqual([10, 10, 10]);
  });

  it("takes an empty publish for nothing", async () => {
    const member = await under.collect();
    await under.bus.publish(under.topic, []);
    await under.bus.publish(under.topic, [record("node-a", "x")]);
    await under.waitFor(() => expect(member.texts()).toEqual(["x"]));
  });
}
