import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Keyring, TAG_BYTES } from "./keyring.ts";

const OLD = { id: 1, secret: Buffer.alloc(32, 1) };
const NEW = { id: 2, secret: Buffer.alloc(32, 2) };

function signedBy(keys: Keyring, keyId: number): Buffer {
  const packet = Buffer.alloc(64, 7);
  keys.sign(keyId, packet);
  return packet;
}

test("a tag is HMAC-SHA-256, whatever the lengths of key and packet, and whatever was signed before", () => {
  for (const secretBytes of [16, 32, 63, 64, 65, 200]) {
    const secret = Buffer.alloc(secretBytes, (secretBytes * 7) & 0xff);
    const keys = new Keyring([{ id: 3, secret }]);
    for (const bytes of [64, 128, 1472, 16, 100]) {
      const packet = Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 31) & 0xff));
      keys.sign(3, packet);
      const expected = createHmac("sha256", secret).update(packet.subarray(0, -TAG_BYTES)).digest();
      expect(packet.subarray(-TAG_BYTES)).toEqual(expected.subarray(0, TAG_BYTES));
      expect(keys.verify(3, packet)).toBe(true);
      packet[0]! ^= 1;
      expect(keys.verify(3, packet)).toBe(false);
    }
  }
});

describe("keys that are replaced", () => {
  test("sign no more, but verify until they are forgotten", () => {
    const keys = new Keyring([OLD]);
    const packet = signedBy(keys, 1);
    keys.replace([NEW], 2);
    expect(keys.signingKeyId).toBe(2);
    expect(keys.verify(1, packet)).toBe(true);
    keys.forgetRetired();
    expect([keys.has(1), keys.verify(1, packet)]).toEqual([false, false]);
    expect(keys.verify(2, signedBy(keys, 2))).toBe(true);
  });

  test("verify by their old secret when only the secret changed", () => {
    const keys = new Keyring([OLD]);
    const packet = signedBy(keys, 1);
    keys.replace([{ id: 1, secret: NEW.secret }], 1);
    expect(keys.verify(1, packet)).toBe(true);
    expect(keys.verify(1, signedBy(keys, 1))).toBe(true);
    keys.forgetRetired();
    expect(keys.verify(1, packet)).toBe(false);
  });

  test("change the generation, so that what was signed ahead is signed anew", () => {
    const keys = new Keyring([OLD]);
    const before = keys.generation;
    keys.replace([OLD, NEW], 1);
    expect(keys.generation).not.toBe(before);
  });

  test("stay as they are when the new ones don't have the signing key", () => {
    const keys = new Keyring([OLD]);
    expect(() => keys.replace([NEW], 1)).toThrow("signing key id must be one of 2, got 1");
    expect(keys.verify(1, signedBy(keys, 1))).toBe(true);
    expect(keys.signingKeyId).toBe(1);
  });
});

describe("a ring without keys", () => {
  test("signs with zeros and key id 0, and accepts only that", () => {
    const keys = new Keyring([], 0);
    const packet = signedBy(keys, 0);
    expect(packet.subarray(-TAG_BYTES)).toEqual(Buffer.alloc(TAG_BYTES));
    expect([keys.has(0), keys.verify(0, packet), keys.has(1)]).toEqual([true, true, false]);
    packet[packet.length - 1] = 1;
    expect(keys.verify(0, packet)).toBe(false);
  });

  test("is nothing that a ring with keys would accept", () => {
    const packet = signedBy(new Keyring([], 0), 0);
    const keys = new Keyring([OLD]);
    expect([keys.has(0), keys.verify(0, packet)]).toEqual([false, false]);
  });

  test("verifies what its keys signed while they are remembered", () => {
    const keys = new Keyring([OLD]);
    const packet = signedBy(keys, 1);
    keys.replace([], 0);
    expect(keys.verify(1, packet)).toBe(true);
  });
});
