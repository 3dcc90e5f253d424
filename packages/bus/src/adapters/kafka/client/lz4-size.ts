const MAGIC = 0x184d2204;
const HAS_BLOCK_CHECKSUMS = 0x10;
const HAS_CONTENT_SIZE = 0x08;
const HAS_CONTENT_CHECKSUM = 0x04;
const HAS_DICTIONARY = 0x01;
const NOT_COMPRESSED = 0x80000000;
const MIN_MATCH_BYTES = 4;

/** Returns the unpacked size of LZ4 frames without unpacking them. Throws RangeError for invalid frames. */
export function lz4UnpackedBytes(packed: Buffer): number {
  let unpacked = 0;
  for (let at = 0; at < packed.length;) {
    if (packed.readUInt32LE(at) !== MAGIC)
      throw new RangeError("an lz4 frame must begin with its magic number");
    const flags = packed.readUInt8(at + 4);
    // Magic number, flags, block size, header checksum.
    at += 7 + (flags & HAS_CONTENT_SIZE ? 8 : 0) + (flags & HAS_DICTIONARY ? 4 : 0);
    for (let size = packed.readUInt32LE(at); size !== 0; size = packed.readUInt32LE(at)) {
      const bytes = size & ~NOT_COMPRESSED;
      const end = at + 4 + bytes;
      if (end > packed.length) throw new RangeError("an lz4 block is longer than its batch");
      unpacked += size >= NOT_COMPRESSED ? bytes : blockBytes(packed, at + 4, end);
      at = end + (flags & HAS_BLOCK_CHECKSUMS ? 4 : 0);
    }
    at += 4 + (flags & HAS_CONTENT_CHECKSUM ? 4 : 0);
  }
  return unpacked;
}

/** A block is a sequence of literals and matches, each with its length. */
function blockBytes(packed: Buffer, from: number, end: number): number {
  let unpacked = 0;
  let at = from;
  const length = (first: number): number => {
    if (first < 15) return first;
    let bytes = first;
    for (let more = 255; more === 255; bytes += more) more = packed.readUInt8(at++);
    return bytes;
  };
  while (at < end) {
    const token = packed.readUInt8(at++);
    const literals = length(token >> 4);
    unpacked += literals;
    // The last sequence has no match.
    at += literals;
    if (at >= end) break;
    at += 2;
    unpacked += MIN_MATCH_BYTES + length(token & 15);
  }
  return unpacked;
}
