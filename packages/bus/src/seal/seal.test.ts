import { createCipheriv, createHmac } from "node:crypto";
import { inspect } from "node:util";

import { encodeHeaders, parseSpeaker, speakerText } from "@isochrone/telemetry";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";

import { createMemoryBus } from "../adapters/memory/memory.ts";
import { partitionOf } from "../ports/partitioner.ts";
import { DROPPED_HEADER, type BusRecord, type OutgoingRecord } from "../ports/port.ts";
import { MAC_HEADER, MacKey } from "./record-mac.ts";
import { SealChecker } from "./seal-checker.ts";
import { sealedBus, sealRecord, type RecordKey } from "./sealed-bus.ts";
import { SPEAKER_HEADER } from "./speaker.ts";

const TOPIC = "isochrone.probe.v1";
const PLACE = { topic: TOPIC, partition: 3 };
const MASTERS = new Map<number, MacKey>([
  [1, new MacKey(Buffer.alloc(32, 1))],
  [2, new MacKey(Buffer.alloc(32, 2))],
]);

function keyOf(speaker: string, keyId = 1): RecordKey {
  return { speaker, keyId, key: MASTERS.get(keyId)!.derive(speaker) };
}

function recordOf(headers: Record<string, string> = {}): OutgoingRecord {
  const identity = { source: "probe/node-a", epoch: "e1", sequence: 7, sentAtMs: 1_700_000_000_000 };
  return {
    key: "node-a",
    value: Buffer.from("value"),
    headers: { ...encodeHeaders(identity), [DROPPED_HEADER]: "2", ...headers },
  };
}

function checker(masters: ReadonlyMap<number, MacKey> = MASTERS, maxSpeakers?: number): SealChecker {
  return new SealChecker({ masters: () => masters, ...(maxSpeakers === undefined ? {} : { maxSpeakers }) });
}

const SEALED = sealRecord(keyOf("node/node-a"), PLACE, recordOf());

/** A seal made by the description in docs/kafka.md, independent of this code. */
const SALT = "AAAAAAAAAAAAAAAAAAAAAA";
const GOLDEN = "1.AAAAAAAAAAAAAAAAAAAAAA.AAAAAAAAAADZxUwIAPKFrSJQc7hHNsab";

function proofOf(mac: string): { salt: string; nonce: Buffer; tag: Buffer } {
  const [, salt, proof] = mac.split(".");
  const bytes = Buffer.from(proof!, "base64url");
  return { salt: salt!, nonce: bytes.subarray(0, 8), tag: bytes.subarray(8) };
}

/** Computes the described MAC of SEALED without our code. */
function describedMac(salt: string, count: Buffer): string {
  const field = (text: string): string => `${text.length}:${text}`;
  const hmac = (secret: Buffer, text: string): Buffer => createHmac("sha256", secret).update(text).digest();
  const speakerKey = hmac(Buffer.alloc(32, 1), "isochrone record key v1\nnode/node-a");
  const key = hmac(speakerKey, `isochrone record session v1\n${salt}`);
  const fields = [TOPIC, "3", "node-a", "6"];
  fields.push("isochrone-dropped", "2", "isochrone-epoch", "e1", "isochrone-sent-at", "1700000000000");
  fields.push("isochrone-sequence", "7", "isochrone-source", "probe/node-a");
  fields.push("isochrone-speaker", "node/node-a");
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.concat([Buffer.alloc(4), count]));
  cipher.setAAD(Buffer.from(`isochrone record seal v1${fields.map(field).join("")}value`));
  cipher.final();
  return `1.${salt}.${Buffer.concat([count, cipher.getAuthTag()]).toString("base64url")}`;
}

describe("the headers of a sealed record", () => {
  test("have these bytes: another version has to read them", () => {
    const { [MAC_HEADER]: mac, ...others } = SEALED.headers;
    expect(others).toEqual({
      "isochrone-source": "probe/node-a",
      "isochrone-epoch": "e1",
      "isochrone-sequence": "7",
      "isochrone-sent-at": "1700000000000",
      "isochrone-dropped": "2",
      "content-type": "application/x-protobuf",
      "isochrone-speaker": "node/node-a",
    });
    expect(mac).toMatch(/^1\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{32}$/);
    const golden = { ...SEALED, headers: { ...others, [MAC_HEADER]: GOLDEN } };
    expect(checker().check(PLACE, golden)).toEqual({ kind: "node", node: "node-a" });
  });

  test("have the MAC that the description gives, computed without our code", () => {
    const mac = SEALED.headers[MAC_HEADER]!;
    const { salt, nonce } = proofOf(mac);
    expect(describedMac(salt, nonce)).toBe(mac);
    expect(describedMac(SALT, Buffer.alloc(8))).toBe(GOLDEN);
  });
});

describe("a key", () => {
  test("never uses a nonce twice: not for a retry, not after a restart, not in another process that has it too", () => {
    const seen = new Set<string>();
    const salts = new Set<string>();
    // Each run derives the key anew, like a restarted process, and seals the same and other records.
    for (let life = 0; life < 50; life++) {
      const key = keyOf("node/node-a");
      for (let i = 0; i < 20; i++) {
        const record = i % 2 === 0 ? recordOf() : { ...recordOf(), value: Buffer.from(`${i}`) };
        const { salt, nonce } = proofOf(sealRecord(key, PLACE, record).headers[MAC_HEADER]!);
        seen.add(`${salt} ${nonce.toString("hex")}`);
        salts.add(salt);
      }
    }
    expect(seen.size).toBe(1_000);
    expect(salts.size).toBe(50);
  });

  test.each([0, 1, 16, 1_000, 65_536, 1_048_576])(
    "proves a value of %i bytes, and none in which a bit is another",
    (bytes) => {
      const record = { ...recordOf(), value: Buffer.alloc(bytes, 5) };
      const sealed = sealRecord(keyOf("node/node-a"), PLACE, record);
      const checks = checker();
      expect(checks.check(PLACE, sealed)).toEqual({ kind: "node", node: "node-a" });
      for (const at of bytes === 0 ? [] : [0, bytes >> 1, bytes - 1]) {
        const value = Buffer.from(sealed.value);
        value[at]! ^= 1;
        expect(checks.check(PLACE, { ...sealed, value })).toBe("forged");
      }
    },
  );

  test("shows its secret to nobody who prints it", () => {
    const key = new MacKey(Buffer.alloc(32, 7));
    expect(inspect(key, { depth: 9, showHidden: true })).not.toMatch(/07|7, 7/);
    expect(JSON.stringify({ key })).toBe('{"key":{}}');
    expect(key.reveal()).toBe(Buffer.alloc(32, 7).toString("base64url"));
  });

  test("has 32 bytes", () => {
    expect(() => new MacKey(Buffer.alloc(31))).toThrow("a record key must have 32 bytes, got 31");
  });
});

describe("a checker", () => {
  test("says who sealed a record", () => {
    const checks = checker();
    expect(checks.check(PLACE, SEALED)).toEqual({ kind: "node", node: "node-a" });
    const service = sealRecord(keyOf("service/otel", 2), PLACE, recordOf());
    expect(checks.check(PLACE, service)).toEqual({ kind: "service", name: "otel" });
  });

  const changed = (headers: Record<string, string>): OutgoingRecord => ({
    ...SEALED,
    headers: { ...SEALED.headers, ...headers },
  });
  const macOf = (parts: { keyId?: string; salt?: string; proof?: string }): string => {
    const [keyId, salt, proof] = SEALED.headers[MAC_HEADER]!.split(".");
    return [parts.keyId ?? keyId, parts.salt ?? salt, parts.proof ?? proof].join(".");
  };
  const without = (name: string): OutgoingRecord => {
    const { [name]: _, ...headers } = SEALED.headers;
    return { ...SEALED, headers };
  };

  test.each<[string, OutgoingRecord, typeof PLACE, string]>([
    ["another value", { ...SEALED, value: Buffer.from("Value") }, PLACE, "forged"],
    ["a longer value", { ...SEALED, value: Buffer.from("value\0") }, PLACE, "forged"],
    ["no value", { ...SEALED, value: new Uint8Array(0) }, PLACE, "forged"],
    ["another key", { ...SEALED, key: "node-b" }, PLACE, "forged"],
    ["another topic", SEALED, { ...PLACE, topic: "isochrone.usage.v1" }, "forged"],
    ["another partition", SEALED, { ...PLACE, partition: 4 }, "forged"],
    ["another node as its speaker", changed({ [SPEAKER_HEADER]: "node/node-b" }), PLACE, "forged"],
    ["another source", changed({ "isochrone-source": "probe/node-b" }), PLACE, "forged"],
    ["another epoch", changed({ "isochrone-epoch": "e2" }), PLACE, "forged"],
    ["another sequence", changed({ "isochrone-sequence": "8" }), PLACE, "forged"],
    ["another time", changed({ "isochrone-sent-at": "1700000000001" }), PLACE, "forged"],
    ["other losses", changed({ [DROPPED_HEADER]: "200" }), PLACE, "forged"],
    ["no losses", without(DROPPED_HEADER), PLACE, "forged"],
    ["one more of our headers", changed({ "isochrone-claim": "x" }), PLACE, "forged"],
    [
      "another valid key id",
      changed({ [MAC_HEADER]: SEALED.headers[MAC_HEADER]!.replace("1.", "2.") }),
      PLACE,
      "forged",
    ],
    [
      "an unknown key id",
      changed({ [MAC_HEADER]: SEALED.headers[MAC_HEADER]!.replace("1.", "9.") }),
      PLACE,
      "unknown_key",
    ],
    ["no MAC", without(MAC_HEADER), PLACE, "unsealed"],
    ["no speaker", without(SPEAKER_HEADER), PLACE, "unsealed"],
    ["a MAC of another length", changed({ [MAC_HEADER]: "1.AAAA" }), PLACE, "malformed"],
    ["an empty MAC", changed({ [MAC_HEADER]: "" }), PLACE, "malformed"],
    ["a MAC without an id", changed({ [MAC_HEADER]: macOf({ keyId: "" }) }), PLACE, "malformed"],
    ["a key id 0", changed({ [MAC_HEADER]: macOf({ keyId: "0" }) }), PLACE, "malformed"],
    ["a salt of another length", changed({ [MAC_HEADER]: macOf({ salt: "AAAA" }) }), PLACE, "malformed"],
    ["another salt", changed({ [MAC_HEADER]: macOf({ salt: "B".repeat(22) }) }), PLACE, "forged"],
    ["another nonce or tag", changed({ [MAC_HEADER]: macOf({ proof: "A".repeat(32) }) }), PLACE, "forged"],
    [
      "a tag that is no base64url",
      changed({ [MAC_HEADER]: macOf({ proof: "!".repeat(32) }) }),
      PLACE,
      "malformed",
    ],
    ["a speaker of no kind", changed({ [SPEAKER_HEADER]: "pod/node-a" }), PLACE, "malformed"],
    ["headers without end", changed({ "isochrone-x": "x".repeat(20_000) }), PLACE, "malformed"],
  ])("does not take a record with %s", (_, record, place, fault) => {
    const checks = checker();
    expect(checks.check(PLACE, SEALED)).toEqual({ kind: "node", node: "node-a" });
    expect(checks.check(place, record)).toBe(fault);
  });

  test("takes what travels beside the seal as it comes", () => {
    expect(checker().check(PLACE, changed({ traceparent: "00-a-b-01" }))).toEqual({
      kind: "node",
      node: "node-a",
    });
  });

  test("takes nobody's record by the key of another speaker", () => {
    const record = sealRecord({ ...keyOf("node/node-b"), speaker: "node/node-a" }, PLACE, recordOf());
    expect(checker().check(PLACE, record)).toBe("forged");
  });

  test("keeps no key of a speaker that proves nothing, and few of those that do", () => {
    const checks = checker(MASTERS, 8);
    for (let i = 0; i < 100; i++) {
      const record = changed({ [MAC_HEADER]: macOf({ salt: String(i).padStart(22, "A") }) });
      expect(checks.check(PLACE, record)).toBe("forged");
    }
    for (let i = 0; i < 1_000; i++) {
      const record = changed({ [SPEAKER_HEADER]: `node/invented-${i}` });
      expect(checks.check(PLACE, record)).toBe("forged");
    }
    expect(checks.knownSpeakers).toBe(0);
    for (let i = 0; i < 100; i++) {
      const record = sealRecord(keyOf(`node/n${i}`), PLACE, recordOf());
      expect(checks.check(PLACE, record)).toEqual({ kind: "node", node: `n${i}` });
    }
    expect(checks.knownSpeakers).toBe(8);
  });

  test("forgets a key with its master: the same id may come again with another secret", () => {
    let masters = MASTERS;
    const checks = new SealChecker({ masters: () => masters });
    expect(checks.check(PLACE, SEALED)).toEqual({ kind: "node", node: "node-a" });
    masters = new Map([[1, new MacKey(Buffer.alloc(32, 9))]]);
    expect(checks.check(PLACE, SEALED)).toBe("forged");
    masters = new Map([[2, MASTERS.get(2)!]]);
    expect(checks.check(PLACE, SEALED)).toBe("unknown_key");
  });
});

describe("a sealed bus", () => {
  test("seals each record for the partition that it goes to", async () => {
    const clock = new ManualClock();
    const plain = createMemoryBus({ clock, partitions: 8 });
    const bus = sealedBus(plain, (_topic, record) => keyOf(`node/${record.key}`));
    const seen: BusRecord[] = [];
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      onBatch: async ({ records }) => void seen.push(...records),
    });
    const keys = Array.from({ length: 20 }, (_, i) => `n${i}`);
    await bus.publish(
      TOPIC,
      keys.map((key) => ({ ...recordOf(), key })),
    );
    await expect.poll(() => seen.length).toBe(keys.length);
    expect(new Set(seen.map(({ partition }) => partition)).size).toBeGreaterThan(1);
    const checks = checker();
    for (const record of seen) {
      expect(record.partition).toBe(partitionOf(record.key, 8));
      expect(checks.check(record, record)).toEqual({ kind: "node", node: record.key });
    }
    await bus.close();
  });

  test("leaves a record alone that has no key, and replaces a seal that somebody wrote before", async () => {
    const clock = new ManualClock();
    const plain = createMemoryBus({ clock, partitions: 1 });
    const bus = sealedBus(plain, (_topic, record) =>
      record.key === "foreign" ? null : keyOf("node/node-a"),
    );
    const seen: BusRecord[] = [];
    await bus.subscribe({
      topics: [TOPIC],
      from: "earliest",
      onBatch: async ({ records }) => void seen.push(...records),
    });
    const claimed = recordOf({ [SPEAKER_HEADER]: "node/node-b", [MAC_HEADER]: "1.x" });
    await bus.publish(TOPIC, [{ ...recordOf(), key: "foreign" }, claimed]);
    await expect.poll(() => seen.length).toBe(2);
    const checks = checker();
    expect(seen.map((record) => checks.check(record, record))).toEqual([
      "unsealed",
      { kind: "node", node: "node-a" },
    ]);
    await bus.close();
  });
});

test("names of speakers are read as they are written, and nothing else is", () => {
  for (const text of ["node/node-a", "node/ip-10-0-0-1.ec2.internal", "service/system:serviceaccount:a:b"])
    expect(speakerText(parseSpeaker(text)!)).toBe(text);
  const wrong = ["", "node/", "node/a/b", "node/A", "node/a\n", "nodes/a", `node/${"a".repeat(254)}`];
  for (const text of wrong) expect(parseSpeaker(text)).toBeNull();
});
