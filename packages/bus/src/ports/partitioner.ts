// Kafka's default partitioner: a key has the same partition on every adapter.

const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** Kafka's MurmurHash2 (32 bit, fixed seed): a signed integer like org.apache.kafka.common.utils.Utils. */
export function murmur2(data: Uint8Array): number {
  const { length } = data;
  const view = new DataView(data.buffer, data.byteOffset, length);
  let h = SEED ^ length;
  const tail = length & ~3;
  for (let i = 0; i < tail; i += 4) {
    let k = Math.imul(view.getInt32(i, true), M);
    k ^= k >>> R;
    h = Math.imul(h, M) ^ Math.imul(k, M);
  }
  const rest = length - tail;
  if (rest > 2) h ^= view.getUint8(tail + 2) << 16;
  if (rest > 1) h ^= view.getUint8(tail + 1) << 8;
  if (rest > 0) h = Math.imul(h ^ view.getUint8(tail), M);
  h ^= h >>> 13;
  h = Math.imul(h, M);
  return (h ^ (h >>> 15)) | 0;
}

/** Hash with cleared sign bit (not the absolute value), modulo `partitions`, as in Kafka. */
export function partitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, "utf8")) & 0x7fffffff) % partitions;
}
