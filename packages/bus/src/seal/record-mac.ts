// The MAC of a record: what it covers, and in which bytes.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from "node:crypto";

import type { OutgoingRecord, TopicPartition } from "../ports/port.ts";

/** Header of the MAC: `<key id>.<salt>.<proof>`. */
export const MAC_HEADER = "isochrone-mac";
/** Bytes of a key. */
const KEY_BYTES = 32;
/** Characters of a salt: base64url of 16 bytes. */
export const SALT_CHARACTERS = 22;
/** Characters of a proof: base64url of a nonce of 8 bytes and a tag of 16 bytes. */
export const PROOF_CHARACTERS = 32;

const HASH = "sha256";
const CIPHER = "aes-256-gcm";
const TAG_BYTES = 16;
const WITH_TAG = { authTagLength: TAG_BYTES } as const;
const SALT_BYTES = 16;
/** A nonce of GCM has 12 bytes. The first four are 0, and the others count. */
const NONCE_BYTES = 12;
const COUNT_AT = 4;
const COUNT_BYTES = NONCE_BYTES - COUNT_AT;
const HIGH = 2 ** 32;
/** Say what a derived key is for, so that no other use of the same secret gives the same bytes. */
const SPEAKER_LABEL = "isochrone record key v1\n";
const SESSION_LABEL = "isochrone record session v1\n";
const SEAL_LABEL = "isochrone record seal v1";
/** All of our headers are covered. Others, such as traceparent, may be changed on the way. */
const COVERED_PREFIX = "isochrone-";
/** Characters of key and covered headers; ours have some hundred. */
const MAX_COVERED_CHARACTERS = 16 * 1024;
/** A character of a JavaScript string has at most this many bytes in UTF-8. */
const UTF8_BYTES = 3;

// Both are written and used without a pause, so one of each is enough.
const textBytes = Buffer.allocUnsafeSlow(MAX_COVERED_CHARACTERS * UTF8_BYTES);
const nonceAndTag = Buffer.alloc(NONCE_BYTES + TAG_BYTES);
const nonce = nonceAndTag.subarray(0, NONCE_BYTES);
const tag = nonceAndTag.subarray(NONCE_BYTES);

/** A secret that keys and seals are derived from. Printing or serialising it shows nothing. */
export class MacKey {
  readonly #secret: KeyObject;
  #sealing: Session | null = null;

  /** @param secret 32 bytes; the key keeps a copy */
  constructor(secret: Uint8Array) {
    if (secret.byteLength !== KEY_BYTES)
      throw new RangeError(`a record key must have ${KEY_BYTES} bytes, got ${secret.byteLength}`);
    this.#secret = createSecretKey(secret);
  }

  /** The key of one speaker. Whoever has it can compute neither this key nor another speaker's. */
  derive(speaker: string): MacKey {
    return new MacKey(hmac(this.#secret, SPEAKER_LABEL, speaker));
  }

  /** The secret itself, for whoever it belongs to. */
  reveal(): string {
    return this.#secret.export().toString("base64url");
  }

  /** Checks what was sealed with this salt. */
  verifier(salt: string): SealVerifier {
    return new Session(this.#secret, salt);
  }

  /**
   * Gives `<salt>.<proof>` for these bytes. The salt is drawn once for this object, and the nonce counts its
   * seals: GMAC must never see a key and a nonce twice, however often a process starts and whoever else holds
   * this secret.
   */
  seal(covered: CoveredBytes): string {
    this.#sealing ??= new Session(this.#secret, randomBytes(SALT_BYTES).toString("base64url"));
    return this.#sealing.seal(covered);
  }
}

/** What a seal covers. */
interface CoveredBytes {
  /** Where the record is, its key and its headers. */
  readonly text: Uint8Array;
  readonly value: Uint8Array;
}

/** Checks seals by one key and one salt. */
export type SealVerifier = Pick<Session, "proves">;

/** One life of a sealer: AES-256-GMAC by a key of its own. */
class Session {
  readonly #salt: string;
  readonly #key: KeyObject;
  #count = 0;

  constructor(secret: KeyObject, salt: string) {
    this.#salt = salt;
    this.#key = createSecretKey(hmac(secret, SESSION_LABEL, salt));
  }

  seal({ text, value }: CoveredBytes): string {
    const count = this.#count++;
    nonce.writeUInt32BE(Math.floor(count / HIGH), COUNT_AT);
    nonce.writeUInt32BE(count % HIGH, COUNT_AT + 4);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, WITH_TAG).setAAD(text).setAAD(value);
    cipher.final();
    tag.set(cipher.getAuthTag());
    return `${this.#salt}.${nonceAndTag.toString("base64url", COUNT_AT)}`;
  }

  /** @returns null when the proof has another form. Tags are compared in constant time. */
  proves(proof: string, { text, value }: CoveredBytes): boolean | null {
    if (nonceAndTag.write(proof, COUNT_AT, "base64url") !== COUNT_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, WITH_TAG);
    decipher.setAuthTag(tag).setAAD(text).setAAD(value);
    try {
      decipher.final();
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * What a seal covers: topic, partition, key, all headers that begin with `isochrone-` (but the MAC itself) in
 * the order of their names, and the value. Each text comes with its length, so that no two records have the
 * same bytes.
 *
 * @returns null when key and covered headers have more than 16,384 characters; else bytes that are valid
 * until the next call
 */
export function coveredBytes(
  { topic, partition }: TopicPartition,
  { key, headers, value }: Pick<OutgoingRecord, "key" | "value" | "headers">,
): CoveredBytes | null {
  const names = coveredNames(headers);
  let text = `${SEAL_LABEL}${field(topic)}${field(String(partition))}${field(key)}${field(String(names.length))}`;
  for (const name of names) text += field(name) + field(headers[name]!);
  if (text.length > MAX_COVERED_CHARACTERS) return null;
  return { text: textBytes.subarray(0, textBytes.write(text, "utf8")), value };
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

function hmac(secret: KeyObject, label: string, text: string): Buffer {
  return createHmac(HASH, secret).update(label).update(text, "utf8").digest();
}
