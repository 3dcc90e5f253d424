import { type ProvenSpeaker } from "@isochrone/telemetry";
import { SealChecker, SPEAKER_HEADER } from "@isochrone/bus/seal";
import type { OutgoingRecord } from "@isochrone/bus";
import { MAC_HEADER, sealRecord } from "@isochrone/bus/testing";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import { RecordKeys } from "./record-keys.ts";

const CHECK_MS = 5_000;
const ROTATION_MS = 3_600_000;
const OVERLAP_MS = 600_000;
const PLACE = { topic: "isochrone.probe.v1", partition: 0 };
const NODE: ProvenSpeaker = { kind: "node", node: "node-a" };

let clock: ManualClock;
let logger: MemoryLogger;
let store: MemoryKeyStore;
let isDeleted: boolean;
let secrets: number;
let running: RecordKeys[];

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = new MemoryKeyStore();
  isDeleted = false;
  secrets = 0;
  running = [];
});

afterEach(() => Promise.all(running.map((keys) => keys.stop())));

async function start(isLeader: boolean): Promise<RecordKeys> {
  const keys = new RecordKeys({
    store: {
      read: async () => (isDeleted ? { set: null, revision: null } : await store.read()),
      write: (set, revision) => (isDeleted ? Promise.reject(new Error("away")) : store.write(set, revision)),
    },
    leadership: { isLeader: () => isLeader },
    clock,
    logger,
    randomBytes: (count) => Buffer.alloc(count, ++secrets),
    rotationMs: ROTATION_MS,
    overlapMs: OVERLAP_MS,
    checkMs: CHECK_MS,
  });
  running.push(keys);
  await keys.start();
  return keys;
}

function sealedBy(keys: RecordKeys): OutgoingRecord {
  return sealRecord(keys.keyFor(NODE), PLACE, { key: "node-a", value: Buffer.from("v"), headers: {} });
}

test("the elected replica makes the key, and the others read it", async () => {
  const follower = await start(false);
  expect(() => follower.keyFor(NODE)).toThrow("the keys of records haven't been read yet");
  expect(follower.pending()).toEqual(["waiting for the keys of records"]);
  const leader = await start(true);
  await clock.advance(CHECK_MS);
  expect(follower.pending()).toEqual([]);
  expect(follower.keyFor(NODE).key.reveal()).toBe(leader.keyFor(NODE).key.reveal());
  expect(secrets).toBe(1);
});

test("through rotations every replica verifies what any replica's key sealed, as long as it overlaps", async () => {
  const replicas = [await start(true), await start(false)];
  await clock.advance(CHECK_MS);
  const checkers = replicas.map(({ masters }) => new SealChecker({ masters }));
  const past: { readonly atMs: number; readonly record: OutgoingRecord }[] = [];
  const keyIds = new Set<number>();
  for (let step = 0; step < 3 * 720; step++) {
    // Replicas read at different times.
    await clock.advance(step % 2 === 0 ? 1_700 : 8_300);
    for (const keys of replicas) {
      keyIds.add(keys.keyFor(NODE).keyId);
      past.push({ atMs: clock.monotonic(), record: sealedBy(keys) });
    }
    while (clock.monotonic() - past[0]!.atMs > OVERLAP_MS) past.shift();
    for (const checker of checkers)
      for (const { record } of [past[0]!, past.at(-1)!]) expect(checker.check(PLACE, record)).toEqual(NODE);
  }
  expect([...keyIds]).toEqual([1, 2, 3]);
});

test("what a retired key sealed is refused when the overlap is over", async () => {
  const keys = await start(true);
  const checker = new SealChecker({ masters: keys.masters });
  const old = sealedBy(keys);
  await clock.advance(ROTATION_MS + OVERLAP_MS);
  expect(keys.keyFor(NODE).keyId).toBe(2);
  expect(checker.check(PLACE, old)).toEqual(NODE);
  await clock.advance(OVERLAP_MS);
  expect(checker.check(PLACE, old)).toBe("unknown_key");
});

test("no speaker's key is another's, nor the master", async () => {
  const keys = await start(true);
  const texts = ["node-a", "node-b"].map((node) => keys.keyFor({ kind: "node", node }).key.reveal());
  texts.push(keys.keyFor({ kind: "service", name: "node-a" }).key.reveal());
  texts.push(keys.masters().get(1)!.reveal());
  expect(new Set(texts).size).toBe(4);
});

test("a replica keeps the key by which it seals for a speaker, and its salt, until the keys change", async () => {
  const keys = await start(true);
  const posted = { key: "node-a", value: Buffer.from("v"), headers: { [SPEAKER_HEADER]: "node/node-a" } };
  const saltOf = (): string => {
    const sealed = sealRecord(keys.sealingKey(PLACE.topic, posted)!, PLACE, posted);
    expect(new SealChecker({ masters: keys.masters }).check(PLACE, sealed)).toEqual(NODE);
    return sealed.headers[MAC_HEADER]!.split(".")[1]!;
  };
  const salt = saltOf();
  expect(saltOf()).toBe(salt);
  await clock.advance(ROTATION_MS + OVERLAP_MS);
  expect(saltOf()).not.toBe(salt);
});

test("a Secret that was deleted counts on until the leader has made another one", async () => {
  const keys = await start(true);
  const follower = await start(false);
  await clock.advance(CHECK_MS);
  const old = sealedBy(keys);
  const checker = new SealChecker({ masters: follower.masters });
  isDeleted = true;
  await clock.advance(CHECK_MS);
  expect(checker.check(PLACE, old)).toEqual(NODE);
  expect(follower.pending()).toEqual([]);
  expect(follower.keyFor(NODE).keyId).toBe(1);
});
