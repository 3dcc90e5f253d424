import { hash, timingSafeEqual } from "node:crypto";
import type { PacketKey } from "../ports/ports.ts";

export const TAG_BYTES = 16;
const NO_KEY_ID = 0;

const NO_TAG = Buffer.alloc(TAG_BYTES);

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/**
 * Keys by id. Several may be valid at once, so that a rotation loses no packet: all verify, one signs. An
 * empty ring accepts only packets of key id 0; a ring with keys never accepts those.
 */
export class Keyring {
  #keys = new Map<number, PacketHmac>();
  #retired = new Map<number, PacketHmac>();
  #signingKeyId = NO_KEY_ID;
  #generation = 0;

  constructor(keys: readonly PacketKey[], signingKeyId: number = keys[0]?.id ?? NO_KEY_ID) {
    this.replace(keys, signingKeyId);
    this.#retired.clear();
  }

  get signingKeyId(): number {
    return this.#signingKeyId;
  }

  /** Changes with each `replace`: packets signed ahead must be signed again. */
  get generation(): number {
    return this.#generation;
  }

  /** Replaced keys still verify until `forgetRetired`. @throws RangeError if no key has the signing id */
  replace(keys: readonly PacketKey[], signingKeyId: number): void {
    const next = new Map(keys.map((key) => [key.id, new PacketHmac(key.secret)]));
    if (!next.has(signingKeyId) && (signingKeyId !== NO_KEY_ID || next.size > 0)) {
      throw new RangeError(
        `signing key id must be one of ${[...next.keys()].join(", ")}, got ${signingKeyId}`,
      );
    }
    this.#retired = new Map([...this.#retired, ...this.#keys]);
    this.#keys = next;
    this.#signingKeyId = signingKeyId;
    this.#generation++;
  }

  forgetRetired(): void {
    this.#retired.clear();
  }

  has(keyId: number): boolean {
    return this.#keys.has(keyId) || this.#retired.has(keyId) || this.#isOpen(keyId);
  }

  sign(keyId: number, packet: Buffer): void {
    const at = packet.length - TAG_BYTES;
    if (this.#isOpen(keyId)) packet.fill(0, at);
    else
      this.#tag(this.#keys.get(keyId) ?? this.#retired.get(keyId), keyId, packet).copy(
        packet,
        at,
        0,
        TAG_BYTES,
      );
  }

  /** Compares in constant time. */
  verify(keyId: number, packet: Buffer): boolean {
    const stated = packet.subarray(packet.length - TAG_BYTES);
    if (this.#isOpen(keyId)) return NO_TAG.equals(stated);
    for (const key of [this.#keys.get(keyId), this.#retired.get(keyId)]) {
      if (key === undefined) continue;
      if (timingSafeEqual(this.#tag(key, keyId, packet).subarray(0, TAG_BYTES), stated)) return true;
    }
    return false;
  }

  #isOpen(keyId: number): boolean {
    return keyId === NO_KEY_ID && this.#keys.size === 0;
  }

  #tag(key: PacketHmac | undefined, keyId: number, packet: Buffer): Buffer {
    if (key === undefined) throw new RangeError(`keyring has no key ${keyId}`);
    return key.digest(packet, packet.length - TAG_BYTES);
  }
}

/** HMAC-SHA-256 (RFC 2104) by two one-shot hashes. Node's Hmac object costs two to four times as much. */
class PacketHmac {
  #inner: Buffer;
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);

  constructor(secret: Uint8Array) {
    const key = secret.length > BLOCK_BYTES ? hash("sha256", secret, "buffer") : secret;
    this.#inner = Buffer.alloc(BLOCK_BYTES);
    for (let i = 0; i < BLOCK_BYTES; i++) {
      this.#inner[i] = (key[i] ?? 0) ^ INNER_PAD;
      this.#outer[i] = (key[i] ?? 0) ^ OUTER_PAD;
    }
  }

  digest(message: Uint8Array, bytes: number): Buffer {
    const end = BLOCK_BYTES + bytes;
    if (this.#inner.length < end) this.#inner = Buffer.concat([this.#inner], end);
    // A loop: for so few bytes, calls into native code cost more.
    for (let i = 0; i < bytes; i++) this.#inner[BLOCK_BYTES + i] = message[i]!;
    this.#outer.set(hash("sha256", this.#inner.subarray(0, end), "buffer"), BLOCK_BYTES);
    return hash("sha256", this.#outer, "buffer");
  }
}
