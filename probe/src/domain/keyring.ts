import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { PacketKey } from "../ports.ts";

/** Length of the HMAC as packets carry it: truncated to 16 bytes. */
export const TAG_BYTES = 16;

/** Keys by id. Several may be valid at once, so that a rotation loses no packet: all verify, the one that a packet names signs. */
export class Keyring {
  readonly #keys = new Map<number, KeyObject>();

  constructor(keys: readonly PacketKey[]) {
    for (const key of keys) this.#keys.set(key.id, createSecretKey(key.secret));
  }

  has(keyId: number): boolean {
    return this.#keys.has(keyId);
  }

  /** Writes the tag into the packet's last bytes. The key must exist. */
  sign(keyId: number, packet: Buffer): void {
    this.#tag(keyId, packet).copy(packet, packet.length - TAG_BYTES, 0, TAG_BYTES);
  }

  /** Compares in constant time. */
  verify(keyId: number, packet: Buffer): boolean {
    if (!this.#keys.has(keyId)) return false;
    return timingSafeEqual(
      this.#tag(keyId, packet).subarray(0, TAG_BYTES),
      packet.subarray(packet.length - TAG_BYTES),
    );
  }

  #tag(keyId: number, packet: Buffer): Buffer {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new RangeError(`keyring has no key ${keyId}`);
    return createHmac("sha256", key)
      .update(packet.subarray(0, packet.length - TAG_BYTES))
      .digest();
  }
}
