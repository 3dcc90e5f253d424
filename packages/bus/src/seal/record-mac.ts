import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from "node:crypto";

import type { OutgoingRecord, TopicPartition } from "../ports/port.ts";

/** MAC header: `<key id>.<salt>.<proof>`. */
export const MAC_HEADER = "isochrone-mac";
const KEY_BYTES = 32;
/** Base64url of 16 bytes. */
export const SALT_CHARACTERS = 22;
/** Base64url of an 8-byte nonce and a 16-byte tag. */
export const PROOF_CHARACTERS = 32;

const HASH = "sha256";
const CIPHER = "aes-256-gcm";
const TAG_BYTES = 16;
const WITH_TAG = { authTagLength: TAG_BYTES } as const;
const SALT_BYTES = 16;
/** GCM nonce: four zero bytes and an 8-byte counter. */
const NONCE_BYTES = 12;
const COUNT_AT = 4;
const COUNT_BYTES = NONCE_BYTES - COUNT_AT;
const HIGH = 2 ** 32;
/** Separate key derivations by purpose, so that other uses of the secret give other keys. */
const SPEAKER_LABEL = "isochrone record key v1\n";
const SESSION_LABEL = "isochrone record session v1\n";
const SEAL_LABEL = "isochrone record seal v1";
/** The MAC covers our headers. Others, such as traceparent, may change in transit. */
const COVERED_PREFIX = "isochrone-";
/** Maximum characters of key and covered headers; typically some hundred. */
const MAX_COVERED_CHARACTERS = 16 * 1024;
/** Maximum UTF-8 bytes per UTF-16 code unit. */
const UTF8_BYTES = 3;

// Shared buffer: it is written and used without an await.
const textBytes = Buffer.allocUnsafeSlow(MAX_COVERED_CHARACTERS * UTF8_BYTES);
const nonceAndTag = Buffer.alloc(NONCE_BYTES + TAG_BYTES);
const nonce = nonceAndTag.subarray(0, NONCE_BYTES);
const tag = nonceAndTag.subarray(NONCE_BYTES);

/** A secret for deriving keys and seals. Printing or serialising it shows nothing. */
export class MacKey {
  readonly #secret: KeyObject;
  #sealing: Session | null = null;

  /** @param secret 32 bytes, copied */
  constructor(secret: Uint8Array) {
    if (secret.byteLength !== KEY_BYTES)
      throw new RangeError(`a record key must have ${KEY_BYTES} bytes, got ${secret.byteLength}`);
    this.#secret = createSecretKey(secret);
  }

  /** Derives a speaker's key. Its holder cannot compute this key or another speaker's. */
  derive(speaker: string): MacKey {
    return new MacKey(hmac(this.#secret, SPEAKER_LABEL, speaker));
  }

  reveal(): string {
    return this.#secret.export().toString("base64url");
  }

  verifier(salt: string): SealVerifier {
    return new Session(this.#secret, salt);
  }

  /**
   * Returns `<salt>.<proof>`. The salt is random per object and the nonce counts seals, because GMAC must
   * never reuse a key and nonce, even across restarts and processes.
   */
  seal(covered: CoveredBytes): string {
    this.#sealing ??= new Session(this.#secret, randomBytes(SALT_BYTES).toString("base64url"));
    return this.#sealing.seal(covered);
  }
}

interface CoveredBytes {
  /** Topic, partition, key and headers. */
  readonly text: Uint8Array;
  readonly value: Uint8Array;
}

export type SealVerifier = Pick<Session, "proves">;

/** One run of a sealer: AES-256-GMAC with its own key. */
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

  /** @returns null for a malformed proof. Compares tags in constant time. */
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
 * Returns the bytes under the seal: topic, partition, key, `isochrone-` headers (except the MAC) sorted by
 * name, and value. Texts are length-prefixed, so that different records never have equal bytes.
 * @returns null if key and covered headers exceed 16,384 characters; else bytes that are valid until the next
 * call
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

/** Length in UTF-16 code units, a colon and the text. */
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
