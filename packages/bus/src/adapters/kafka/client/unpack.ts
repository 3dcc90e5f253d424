import { gunzipSync, zstdDecompressSync } from "node:zlib";

import { lz4Decompress, snappyDecompress } from "@platformatic/wasm-utils";

import { lz4UnpackedBytes } from "./lz4-size.ts";

/** Limit in bytes. A packed batch has at most 1 MiB; one that unpacks to more than this is an attack. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;

const LIKELY_RATIO = 8;

const UNPACK: readonly ((packed: Buffer) => Buffer)[] = [
  (packed) => packed,
  (packed) => gunzipSync(packed, zlibOptions(packed)),
  unpackSnappy,
  unpackLz4,
  (packed) => zstdDecompressSync(packed, zlibOptions(packed)),
];

/** Throws for an unknown `codec` (number in the batch attributes) and corrupt data. */
export function unpack(codec: number, packed: Buffer): Buffer {
  const unpackWith = UNPACK[codec];
  if (unpackWith === undefined) throw new RangeError(`compression must be one of 0 to 4, got ${codec}`);
  return unpackWith(packed);
}

const XERIAL_MAGIC = Buffer.from("82534e4150505900", "hex");
const XERIAL_HEADER_BYTES = 16;

/** Sizes the buffer so that most batches fit into one, which avoids concatenation and garbage. */
function zlibOptions({ length }: Buffer): { readonly maxOutputLength: number; readonly chunkSize: number } {
  const chunkSize = Math.min(Math.max(1024, length * LIKELY_RATIO), 1024 * 1024);
  return { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize };
}

/** The library has no size limit and never frees its memory. */
function unpackLz4(packed: Buffer): Buffer {
  // One LZ4 byte encodes at most 255.
  if (packed.length * 255 > MAX_UNPACKED_BYTES) refuseBeyondLimit("lz4", lz4UnpackedBytes(packed));
  return lz4Decompress(packed);
}

function refuseBeyondLimit(codec: string, bytes: number): void {
  if (bytes > MAX_UNPACKED_BYTES)
    throw new RangeError(
      `a batch must unpack to at most ${MAX_UNPACKED_BYTES} bytes, ${codec} makes ${bytes}`,
    );
}

/** Java producers frame snappy in blocks with lengths; others don't. */
function unpackSnappy(packed: Buffer): Buffer {
  if (!packed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return unpackSnappyBlock(packed);
  const blocks: Buffer[] = [];
  let bytes = 0;
  for (let at = XERIAL_HEADER_BYTES; at < packed.length;) {
    const end = at + 4 + packed.readUInt32BE(at);
    if (end > packed.length) throw new RangeError("a snappy block is longer than its batch");
    const block = unpackSnappyBlock(packed.subarray(at + 4, end));
    bytes += block.length;
    refuseBeyondLimit("snappy", bytes);
    blocks.push(block);
    at = end;
  }
  return Buffer.concat(blocks);
}

function unpackSnappyBlock(packed: Buffer): Buffer {
  let bytes = 0;
  for (const [i, byte] of packed.subarray(0, 5).entries()) {
    bytes += (byte & 0x7f) * 128 ** i;
    if (byte < 0x80) break;
  }
  refuseBeyondLimit("snappy", bytes);
  return snappyDecompress(packed);
}
