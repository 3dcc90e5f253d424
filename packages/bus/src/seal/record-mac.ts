// The MAC of a record: what it covers, and in which bytes.
import { createHmac, hash } from "node:crypto";

import type { OutgoingRecord, TopicPartition } from "../port.ts";

/** Header of the MAC: `<key id>.<base64url of 32 bytes>`. */
export const MAC_HEADER = "isochrone-mac";

/** Bytes of a key, and of a MAC. */
export const KEY_BYTES = 32;

const ALGORITHM = "sha256";
const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** Says what a derived key is for, so that no other use of the same secret gives the same bytes. */
const KEY_LABEL = "isochrone record key v1\n";
const SEAL_LABEL = "isochrone record seal v1";
/** All of our headers are covered. Others, such as traceparent, may be changed on the way. */
const COVERED_PREFIX = "isochrone-";
/** Characters of key and covered headers; ours have some hundred. */
const MAX_COVERED_CHARACTERS = 16 * 1024;
/** A character of a JavaScript string has at most this many bytes in UTF-8. */
const UTF8_BYTES = 3;

/**
 * Whole messages up to this size are hashed in one call. Of node's ways that is the cheapest: a streaming HMAC costs twice as much for small
 * records, and AES-GMAC, though four times as fast per byte, more in all, because of what each of its objects costs to make and to collect.
 */
const SCRATCH_BYTES = 128 * 1024;
/** Written and used without a pause, so one is enough. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A key of HMAC-SHA-256. Printing or serialising it shows nothing. */
export class MacKey {
  readonly #secret: Buffer;
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** @param secret 32 bytes; the key keeps a copy */
  constructor(secret: Uint8Array) {
    if (secret.byteLength !== KEY_BYTES)
      throw new RangeError(`a record key must have ${KEY_BYTES} bytes, got ${secret.byteLength}`);
    this.#secret = Buffer.from(secret);
    this.#inner = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
    this.#outer = Buffer.alloc(BLOCK_BYTES + KEY_BYTES, OUTER_PAD);
    for (let i = 0; i < KEY_BYTES; i++) {
      this.#inner[i]! ^= this.#secret[i]!;
      this.#outer[i]! ^= this.#secret[i]!;
    }
  }

  /** The key of one speaker. Whoever has it can compute neither this key nor another speaker's. */
  derive(speaker: string): MacKey {
    return new MacKey(createHmac(ALGORITHM, this.#secret).update(KEY_LABEL).update(speaker, "utf8").digest());
  }

  /** The secret itself, for whoever it belongs to. */
  reveal(): string {
    return this.#secret.toString("base64url");
  }

  /** HMAC-SHA-256 of the text and then the value. */
  mac(text: string, value: Uint8Array): Buffer {
    if (BLOCK_BYTES + UTF8_BYTES * text.length + value.byteLength > SCRATCH_BYTES)
      return createHmac(ALGORITHM, this.#secret).update(text, "utf8").update(value).digest();
    scratch.set(this.#inner, 0);
    const valueAt = BLOCK_BYTES + scratch.write(text, BLOCK_BYTES, "utf8");
    scratch.set(value, valueAt);
    const end = valueAt + value.byteLength;
    this.#outer.set(hash(ALGORITHM, scratch.subarray(0, end), "buffer"), BLOCK_BYTES);
    return hash(ALGORITHM, this.#outer, "buffer");
  }
}

/**
 * HMAC-SHA-256 over topic, partition, key, all headers that begin with `isochrone-` (but the MAC itself) in the order of their names, and the
 * value. Each text comes with its length, so that no two records have the same bytes.
 *
 * @returns null when key and covered headers have more than 16,384 characters
 */
export function recordMac(
  key: MacKey,
  { topic, partition }: TopicPartition,
  record: Pick<OutgoingRecord, "key" | "value" | "headers">,
): Buffer | null {
  const { headers, value } = record;
  const names = coveredNames(headers);
  let text = `${SEAL_LABEL}${field(topic)}${field(String(partition))}${field(record.key)}${field(String(names.length))}`;
  for (const name of names) text += field(name) + field(headers[name]!);
  return text.length > MAX_COVERED_CHARACTERS ? null : key.mac(text, value);
}

/** Its length in UTF-16 code units, a colon and the text. */
function field(text: string): string {
  return `${text.length}:${text}`;
}

function coveredNames(headers: OutgoingRecord["headers"]): string[] {
  const names: string[] = [];
  for (const name in headers) {
    if (name.startsWith(COVERED_PREFIX) && name !== MAC_HEADER) names.push(name);
  }
  return names.sort();
}
