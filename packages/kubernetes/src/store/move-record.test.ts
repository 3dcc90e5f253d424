import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../adapters/memory/memory.ts";
import {
  LAST_MOVE_ANNOTATION,
  moveOwnerOf,
  moveRecordPatch,
  MOVES_ANNOTATION,
  movesDonePatch,
  readLastMove,
  readMoveRecords,
  redeemableMove,
} from "./move-record.ts";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject } from "./port.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const RECORD = { podUid: "u1", from: "n1", to: "n2", deadlineMs: NOW + 60_000 };
const LAST = { atMs: NOW, coolDownMs: 300_000 };
const REF = { ...KINDS.replicaSet, namespace: "default", name: "web-1" };

const pod = (uid: string): KubernetesObject => ({
  ...KINDS.pod,
  metadata: {
    name: uid,
    namespace: "default",
    uid,
    ownerReferences: [{ ...KINDS.replicaSet, name: "web-1", uid: "rs", controller: true }],
  },
});

describe("the move record", () => {
  const created = async () => {
    const store = createMemoryStore({ clock: new ManualClock(NOW) });
    const owner = await store.create({
      ...KINDS.replicaSet,
      metadata: { name: "web-1", namespace: "default" },
    });
    return { store, owner };
  };

  test("is written on the controller, read back, redeemed by another pod, and removed", async () => {
    const { store, owner } = await created();
    const written = await store.jsonPatch(REF, moveRecordPatch(owner, RECORD, LAST, NOW));
    expect(JSON.parse(written.metadata.annotations![MOVES_ANNOTATION]!)).toEqual([
      { podUid: "u1", from: "n1", to: "n2", deadline: "2026-01-01T00:01:00Z" },
    ]);
    expect(readMoveRecords(written, NOW)).toEqual([RECORD]);
    expect(readLastMove(written)).toEqual(LAST);
    expect(redeemableMove(written, pod("u1"), NOW)).toBeNull();
    expect(redeemableMove(written, pod("u2"), NOW)).toEqual(RECORD);
    const done = await store.jsonPatch(
      REF,
      movesDonePatch(written, ["u1"], NOW, { ...LAST, coolDownMs: 600_000 }),
    );
    expect(done.metadata.annotations?.[MOVES_ANNOTATION]).toBeUndefined();
    expect(readLastMove(done)?.coolDownMs).toBe(600_000);
  });

  test("is not written over what somebody changed in between", async () => {
    const { store, owner } = await created();
    await store.patch(REF, { metadata: { labels: { changed: "yes" } } });
    await expect(store.jsonPatch(REF, moveRecordPatch(owner, RECORD, LAST, NOW))).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("counts for nothing after its deadline, and goes with the next write", async () => {
    const { store, owner } = await created();
    const first = await store.jsonPatch(REF, moveRecordPatch(owner, RECORD, LAST, NOW));
    const later = NOW + 60_000;
    expect(readMoveRecords(first, later)).toEqual([]);
    const next = { ...RECORD, podUid: "u2", deadlineMs: later + 1_000 };
    const second = await store.jsonPatch(REF, moveRecordPatch(first, next, LAST, later));
    expect(JSON.parse(second.metadata.annotations![MOVES_ANNOTATION]!)).toHaveLength(1);
  });

  test.each([
    ["no JSON", "{"],
    ["no list", "{}"],
    [
      "entries of other shapes",
      '[null, 1, {"podUid": 1}, {"podUid": "a", "from": "b", "to": "", "deadline": "2027-01-01T00:00:00Z"}]',
    ],
    ["a deadline that is none", '[{"podUid": "a", "from": "b", "to": "c", "deadline": "soon"}]'],
  ])("that holds %s counts as absent", (_, text) => {
    const owner = {
      ...KINDS.replicaSet,
      metadata: { name: "x", annotations: { [MOVES_ANNOTATION]: text, [LAST_MOVE_ANNOTATION]: text } },
    };
    expect(readMoveRecords(owner, NOW)).toEqual([]);
    expect(readLastMove(owner)).toBeNull();
  });

  test("belongs on the pod's controller; a bare pod has none", () => {
    expect(moveOwnerOf(pod("u1"))).toEqual({ ...REF, uid: "rs" });
    expect(moveOwnerOf({ ...KINDS.pod, metadata: { name: "bare" } })).toBeNull();
  });
});
