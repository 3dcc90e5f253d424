import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";

import { KINDS } from "../../kinds.ts";
import type { ClusterStore, KubernetesObject } from "../../store/port.ts";
import { createMemoryStore } from "./memory.ts";

// Promises of the memory store alone; test/contract covers all stores.

const node = (name: string): KubernetesObject => ({ ...KINDS.node, metadata: { name } });
const pod = (name: string, rest: Partial<KubernetesObject> = {}): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name },
  ...rest,
});

function iterate<T>(events: AsyncIterable<T>): AsyncIterator<T> {
  return events[Symbol.asyncIterator]();
}

describe("memory store", () => {
  let clock: ManualClock;
  let store: ClusterStore;
  beforeEach(() => {
    clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    store = createMemoryStore({ clock, historyLimit: 20 });
  });

  it("takes its times from the clock, in whole seconds", async () => {
    expect((await store.create(node("n"))).metadata.creationTimestamp).toBe("2026-01-02T03:04:05Z");
    await store.create(pod("p", { spec: { nodeName: "n" } }));
    await store.delete({ ...KINDS.pod, name: "p" }, { gracePeriodSeconds: 10 });
    const marked = await store.get({ ...KINDS.pod, name: "p" });
    expect(marked?.metadata.deletionTimestamp).toBe("2026-01-02T03:04:15Z");
  });

  it("puts a namespaced object that names no namespace into default, and finds it there", async () => {
    expect((await store.create(pod("p"))).metadata.namespace).toBe("default");
    expect(await store.get({ ...KINDS.pod, namespace: "default", name: "p" })).not.toBeNull();
    expect(await store.get({ ...KINDS.pod, name: "p" })).not.toBeNull();
  });

  it("lets no caller set what is the server's", async () => {
    const forged = { uid: "u", generation: 7, creationTimestamp: "x", deletionTimestamp: "y" };
    const created = await store.create({ ...KINDS.node, metadata: { name: "n", ...forged } });
    expect(created.metadata).toMatchObject({ generation: 1, creationTimestamp: "2026-01-02T03:04:05Z" });
    expect(created.metadata.deletionTimestamp).toBeUndefined();
    const patched = await store.patch(
      { ...KINDS.node, name: "n" },
      { metadata: { generation: 9, deletionTimestamp: "z" } },
    );
    expect(patched.metadata.generation).toBe(1);
    expect(patched.metadata.deletionTimestamp).toBeUndefined();
  });

  it("keeps the generation of a custom resource whose status is written", async () => {
    const ref = { ...KINDS.streamJob, namespace: "site", name: "gate" };
    await store.create({ ...KINDS.streamJob, metadata: { namespace: "site", name: "gate" }, spec: {} });
    const told = await store.patch(ref, { status: { phase: "Waiting" } }, { subresource: "status" });
    expect(told.metadata.generation).toBe(1);
    const changed = await store.patch(ref, { spec: { minThroughput: 2 } });
    expect(changed.metadata.generation).toBe(2);
  });

  it("gives every write the next version, over all kinds", async () => {
    const versions = [await store.create(node("n")), await store.create(pod("p"))];
    expect(versions.map(({ metadata }) => metadata.resourceVersion)).toEqual(["1", "2"]);
  });

  it("tells a watcher that fell behind the history to list again, however slowly it reads", async () => {
    const { resourceVersion } = await store.list(KINDS.node);
    const watch = iterate(store.watch(KINDS.node, { resourceVersion, signal: new AbortController().signal }));
    await store.create(node("first"));
    expect(await watch.next()).toMatchObject({
      value: { type: "added", object: { metadata: { name: "first" } } },
    });
    for (let i = 0; i < 20; i += 1) await store.create(node(`n${i}`));
    expect(await watch.next()).toMatchObject({ value: { object: { metadata: { name: "n0" } } } });
    for (let i = 20; i < 30; i += 1) await store.create(node(`n${i}`));
    await expect(watch.next()).rejects.toMatchObject({ code: "expired" });
  });

  it("takes a version of another life of the store for expired", async () => {
    const watch = store.watch(KINDS.node, { resourceVersion: "5", signal: new AbortController().signal });
    await expect(iterate(watch).next()).rejects.toMatchObject({ code: "expired" });
  });

  it("leaves no timer behind when a watch ends", async () => {
    const end = new AbortController();
    const watch = iterate(store.watch(KINDS.node, { resourceVersion: "0", signal: end.signal }));
    await store.create(node("n"));
    await watch.next();
    expect(clock.pending).toBe(1);
    end.abort();
    expect(await watch.next()).toMatchObject({ done: true });
    expect(clock.pending).toBe(0);
  });

  it("gives owned pods on a node their grace period, as the garbage collector does", async () => {
    const owner = await store.create({ ...KINDS.replicaSet, metadata: { name: "rs" } });
    const ownerReferences = [{ ...KINDS.replicaSet, name: "rs", uid: owner.metadata.uid ?? "" }];
    await store.create(pod("p", { metadata: { name: "p", ownerReferences }, spec: { nodeName: "n" } }));
    await store.delete({ ...KINDS.replicaSet, name: "rs" });
    expect((await store.get({ ...KINDS.pod, name: "p" }))?.metadata.deletionGracePeriodSeconds).toBe(30);
  });

  it("refuses a patch that would move the object, and one that is no JSON", async () => {
    await store.create(node("n"));
    const ref = { ...KINDS.node, name: "n" };
    await expect(store.patch(ref, { metadata: { name: "m" } })).rejects.toThrow("must not change type, name");
    await expect(store.patch(ref, { status: { load: Number.NaN } })).rejects.toMatchObject({
      code: "invalid",
    });
    await expect(store.patch(ref, { metadata: null })).rejects.toMatchObject({ code: "invalid" });
  });

  it("names the rule and the value when it refuses an object", async () => {
    const invalid = { ...KINDS.node, metadata: { name: "n", labels: { zone: "a b" } } };
    await expect(store.create(invalid)).rejects.toThrow(
      'Node n: metadata.labels["zone"] must be a label value of at most 63 characters, got "a b"',
    );
  });

  it("refuses a history of no length", () => {
    expect(() => createMemoryStore({ clock, historyLimit: 0 })).toThrow("historyLimit");
  });
});
