import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { memberOf } from "../testing/appgroup-rig.ts";
import { ClusterObjects } from "./cluster-objects.ts";
import type { FollowedObjects } from "./cluster-objects.ts";

const NODE: KubernetesObject = {
  ...KINDS.node,
  metadata: { name: "n1", labels: { zone: "a" }, annotations: { "isochrone.dev/observed-at": "now" } },
  status: {
    allocatable: { cpu: "4" },
    conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z" }],
    images: [{ names: ["large"] }],
  },
};

let clock: ManualClock;
let store: ClusterStore;
let objects: ClusterObjects;
let listed: string[];

beforeEach(async () => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
  await store.create(NODE);
  listed = [];
  const informerObserver = { listed: (kind: string) => void listed.push(kind) };
  const observed = new Proxy(store, {
    get: (target, name) => (name === "informerObserver" ? informerObserver : memberOf(target, name)),
  });
  objects = new ClusterObjects({
    store: observed,
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger({ clock }),
  });
});

async function follow(onChange = (): void => undefined): Promise<FollowedObjects> {
  const followed = objects.follow(onChange);
  onTestFinished(() => followed.stop());
  await clock.advance(100);
  return followed;
}

const change = async (patch: Record<string, unknown>): Promise<void> => {
  const options = "status" in patch ? { subresource: "status" as const } : {};
  await store.patch({ ...KINDS.node, name: "n1" }, patch, options);
  await clock.advance(100);
};

test("two parts that follow have one cache, listed once", async () => {
  const first = await follow();
  const second = await follow();
  expect(listed.toSorted()).toEqual([
    "CSINode",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "VolumeAttachment",
  ]);
  expect([first.isSynced, second.isSynced]).toEqual([true, true]);
  expect(second.lists().nodes[0]).toBe(first.lists().nodes[0]);
});

test("a part that stops doesn't take the cache from the other, however often it stops", async () => {
  const told: string[] = [];
  const first = await follow(() => void told.push("first"));
  const second = await follow(() => void told.push("second"));
  told.length = 0;
  await first.stop();
  await first.stop();
  await change({ metadata: { labels: { zone: "b" } } });
  expect(told).toEqual(["second"]);
  expect(second.lists().nodes[0]?.metadata.labels).toEqual({ zone: "b" });
});

test("after the last one has stopped nothing is followed, and the next one lists anew", async () => {
  const first = await follow();
  await first.stop();
  await change({ metadata: { labels: { zone: "b" } } });
  expect(first.lists().nodes[0]?.metadata.labels).toEqual({ zone: "a" });
  listed.length = 0;
  const second = await follow();
  expect(listed).toHaveLength(6);
  expect(second.lists().nodes[0]?.metadata.labels).toEqual({ zone: "b" });
});

test("a heartbeat is no change, and what filters don't look at isn't kept", async () => {
  let changes = 0;
  const followed = await follow(() => (changes += 1));
  const before = changes;
  await change({
    status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:10Z" }] },
  });
  expect(changes).toBe(before);
  const { metadata, status } = followed.lists().nodes[0]!;
  expect(metadata.annotations).toBeUndefined();
  expect(status).toEqual({
    allocatable: { cpu: "4" },
    conditions: [{ type: "Ready", status: "True" }],
  });
  await change({ status: { conditions: [{ type: "Ready", status: "False" }] } });
  expect(changes).toBe(before + 1);
});
