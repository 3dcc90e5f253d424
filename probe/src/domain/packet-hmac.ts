import { hash } from "node:crypto";

/** Of SHA-256. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER = 0x36;
const OUTER = 0x5c;

/**
 * HMAC-SHA-256 (RFC 2104) of short messages under one key: two one-shot hashes. An Hmac object of Node's costs
 * two to four times as much for a packet, most of it for the object.
 */
export class PacketHmac {
  /** The key's block, then the message. */
  #inner: Buffer;
  /** The key's block, then the inner digest. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);

  constructor(secret: Uint8Array) {
    const key = secret.length > BLOCK_BYTES ? hash("sha256", secret, "buffer") : secret;
    this.#inner = Buffer.alloc(BLOCK_BYTES);
    for (let i = 0; i < BLOCK_BYTES; i++) {
      this.#inner[i] = (key[i] ?? 0) ^ INNER;
      this.#outer[i] = (key[i] ?? 0) ^ OUTER;
    }
  }

  /** Of the first `bytes` bytes. */
  digest(message: Uint8Array, bytes: number): Buffer {
    const end = BLOCK_BYTES + bytes;
    if (this.#inner.length < end) this.#inner = Buffer.concat([this.#inner], end);
    // Byte by byte: for so few, calls into Node's own code cost more than the work.
    for (let i = 0; i < bytes; i++) this.#inner[BLOCK_BYTES + i] = message[i]!;
    this.#outer.set(hash("sha256", this.#inner.subarray(0, end), "buffer"), BLOCK_BYTES);
    return hash("sha256", this.#outer, "buffer");
  }
}
