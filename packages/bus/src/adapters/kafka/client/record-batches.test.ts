// kafkajs' encoder writes the batches, which real brokers accept.
import { createRequire } from "node:module";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { crc32c, lz4Compress, snappyCompress } from "@platformatic/wasm-utils";
import { describe, expect, it } from "vitest";

import { splitBatches, unpackBatch } from "./record-batches.ts";
import type { Aborted } from "./record-batches.ts";
import type { FetchedRecord } from "./client.ts";

interface Encoded {
  readonly buffer: Buffer;
}

const require = createRequire(import.meta.url);
const encodeBatch = require("kafkajs/src/protocol/recordBatch/v0") as {
  readonly RecordBatch: (options: object) => Promise<Encoded>;
};
const encodeRecord = require("kafkajs/src/protocol/recordBatch/record/v0") as (options: object) => unknown;

const TIME_MS = 1_767_225_600_000;
const ATTRIBUTES_AT = 21;

interface BatchOptions {
  readonly base?: number;
  readonly values?: readonly (string | null)[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly producerId?: number;
}

async function batch({
  base = 0,
  values = ["a", "b"],
  headers = {},
  producerId = -1,
}: BatchOptions = {}): Promise<Buffer> {
  const records = values.map((value, offsetDelta) =>
    encodeRecord({
      offsetDelta,
      timestampDelta: offsetDelta,
      key: "node-a",
      value: value === null ? null : Buffer.from(value),
      headers,
    }),
  );
  const { buffer } = await encodeBatch.RecordBatch({
    records,
    firstOffset: base,
    firstTimestamp: TIME_MS,
    maxTimestamp: TIME_MS + values.length - 1,
    lastOffsetDelta: values.length - 1,
    producerId,
  });
  return Buffer.from(buffer);
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return signed(copy);
}

function signed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)) >>> 0, 17);
  return bytes;
}

function withAttributes(bytes: Buffer, attributes: number): Buffer {
  return changed(bytes, (copy) => copy.writeInt16BE(attributes, ATTRIBUTES_AT));
}

function packed(bytes: Buffer, codec: number, pack: (records: Buffer) => Buffer): Buffer {
  const whole = Buffer.concat([bytes.subarray(0, 61), pack(bytes.subarray(61))]);
  whole.writeInt32BE(whole.length - 12, 8);
  whole.writeInt16BE(codec, ATTRIBUTES_AT);
  return signed(whole);
}

/** Removes all records, as compaction does. */
function emptied(bytes: Buffer): Buffer {
  const rest = Buffer.from(bytes.subarray(0, 61));
  rest.writeInt32BE(rest.length - 12, 8);
  rest.writeInt32BE(0, 57);
  return signed(rest);
}

interface Read {
  readonly records: readonly FetchedRecord[];
  readonly nextOffset: number | null;
  readonly unreadable: readonly { readonly from: number; readonly to: number }[];
}

function read(batches: readonly Buffer[], from = 0, aborted: readonly Aborted[] = []): Read {
  const split = splitBatches(Buffer.concat(batches), from, aborted);
  const records: FetchedRecord[] = [];
  const unreadable: { from: number; to: number }[] = [];
  for (const batch of split.batches) {
    try {
      records.push(...unpackBatch(batch));
    } catch {
      unreadable.push({ from: batch.from, to: batch.to });
    }
  }
  return { records, nextOffset: split.nextOffset, unreadable };
}

const textsOf = ({ records }: Read): (string | null)[] =>
  records.map(({ value }) => (value === null ? null : Buffer.from(value).toString()));

describe("reading batches of records", () => {
  it("gives key, value, tombstones, headers, offsets and times", async () => {
    const headers = { source: "node-ä", twice: ["first", "last"] };
    const fetched = read([await batch({ base: 7, values: ["a", null, ""], headers })]);
    expect(fetched).toMatchObject({ nextOffset: 10, unreadable: [] });
    expect(textsOf(fetched)).toEqual(["a", null, ""]);
    const [first] = fetched.records;
    expect(first).toMatchObject({
      offset: 7,
      timestampMs: TIME_MS,
      headers: { source: "node-ä", twice: "last" },
    });
    expect(Buffer.from(first!.key!).toString()).toBe("node-a");
    expect(fetched.records.map(({ timestampMs }) => timestampMs - TIME_MS)).toEqual([0, 1, 2]);
  });

  it("gives the broker's append time where the topic says so, for each record of the batch", async () => {
    const fetched = read([withAttributes(await batch({ values: ["a", "b", "c"] }), 8)]);
    expect(fetched.records.map(({ timestampMs }) => timestampMs - TIME_MS)).toEqual([2, 2, 2]);
  });

  it.each([
    ["gzip", 1, gzipSync],
    ["snappy", 2, snappyCompress],
    ["snappy in Java's frame", 2, xerial],
    ["lz4", 3, lz4Compress],
  ] as const)("unpacks %s", async (_name, codec, pack) => {
    expect(textsOf(read([packed(await batch(), codec, pack)]))).toEqual(["a", "b"]);
  });

  it("leaves out what lies before the offset that was asked for", async () => {
    const bytes = [await batch({ base: 0 }), await batch({ base: 2, values: ["c", "d"] })];
    expect(textsOf(read(bytes, 3))).toEqual(["d"]);
    expect(read(bytes, 3).nextOffset).toBe(4);
  });

  it("stops at a batch that the answer cuts off", async () => {
    const whole = [await batch()];
    const [first, second] = [await batch(), await batch({ base: 2 })];
    const cut = [first, second.subarray(0, second.length - 1)];
    expect(read(cut).records).toEqual(read(whole).records);
    expect(read(cut).nextOffset).toBe(2);
  });

  it("goes past a batch that compaction has emptied", async () => {
    const fetched = read([emptied(await batch({ base: 10, values: ["a", "b", "c"] }))]);
    expect(fetched).toMatchObject({ records: [], nextOffset: 13, unreadable: [] });
  });

  it("says that nothing came when nothing came", () => {
    expect(read([])).toMatchObject({ records: [], nextOffset: null, unreadable: [] });
  });

  it("passes over a batch that it can't read, and reads what follows", async () => {
    const good = await batch({ base: 4, values: ["good"] });
    const wrong = {
      checksum: changedWithoutSigning(await batch({ base: 2 })),
      format: changed(await batch({ base: 2 }), (copy) => copy.writeInt8(1, 16)),
      compression: withAttributes(await batch({ base: 2 }), 5),
      bytes: packed(await batch({ base: 2 }), 4, () => Buffer.from("no zstd at all")),
      length: changed(await batch({ base: 2 }), (copy) => copy.writeInt32BE(1_000_000, 57)),
    };
    for (const [what, broken] of Object.entries(wrong)) {
      const fetched = read([broken, good]);
      expect([what, textsOf(fetched)]).toEqual([what, ["good"]]);
      expect(fetched.nextOffset).toBe(5);
      expect(fetched.unreadable).toEqual([{ from: 2, to: 3 }]);
    }
  });

  it.each([
    ["gzip", 1, gzipSync],
    ["lz4", 3, lz4Compress],
    ["zstd", 4, zstdCompressSync],
  ] as const)(
    "passes over a batch of %s that would unpack to more than memory should hold",
    async (_name, codec, pack) => {
      const bomb = packed(await batch(), codec, () => pack(Buffer.alloc(65 * 1024 * 1024)));
      expect(bomb.length).toBeLessThan(1024 * 1024);
      expect(read([bomb]).unreadable).toHaveLength(1);
    },
  );

  it("passes over snappy that makes more than memory should hold: one block that says so, or many blocks", async () => {
    const lie = Buffer.from([0xf0, 0xff, 0xff, 0xff, 0x0f]);
    const many = framed(Array.from({ length: 30 }, () => snappyCompress(Buffer.alloc(3 * 1024 * 1024))));
    for (const bytes of [lie, framed([lie]), many])
      expect(read([packed(await batch(), 2, () => bytes)]).unreadable).toHaveLength(1);
  });

  it("leaves out control records and what an aborted transaction wrote, and nothing else", async () => {
    const TRANSACTIONAL = 16;
    const CONTROL = 32;
    const aborted = withAttributes(await batch({ base: 0, producerId: 9 }), TRANSACTIONAL);
    const other = withAttributes(await batch({ base: 2, values: ["kept"], producerId: 8 }), TRANSACTIONAL);
    const marker = withAttributes(
      await batch({ base: 3, values: ["x"], producerId: 9 }),
      TRANSACTIONAL | CONTROL,
    );
    const later = withAttributes(await batch({ base: 4, values: ["later"], producerId: 9 }), TRANSACTIONAL);
    const fetched = read([aborted, other, marker, later], 0, [{ producerId: 9n, firstOffset: 0 }]);
    expect(textsOf(fetched)).toEqual(["kept", "later"]);
    expect(fetched).toMatchObject({ nextOffset: 5, unreadable: [] });
  });
});

function changedWithoutSigning(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeInt8(99, copy.length - 1);
  return copy;
}

function xerial(records: Buffer): Buffer {
  const half = Math.floor(records.length / 2);
  return framed([records.subarray(0, half), records.subarray(half)].map(snappyCompress));
}

function framed(blocks: readonly Buffer[]): Buffer {
  const header = Buffer.from("82534e41505059000000000100000001", "hex");
  const parts = blocks.flatMap((block) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    return [length, block];
  });
  return Buffer.concat([header, ...parts]);
}
