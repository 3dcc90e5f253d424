import { KINDS, StoreError } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { node, nodeRef, pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeChanges(under: StoreHarness): void {
  it("replaces an object by update, keeping what the server set", async () => {
    const created = await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    const updated = await under.store.update(node("n", { metadata: { name: "n", labels: { b: "2" } } }));
    expect(updated.metadata.labels).toEqual({ b: "2" });
    expect(updated.metadata.uid).toBe(created.metadata.uid);
    expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.metadata.resourceVersion),
    );
  });

  it("refuses an update of a version that is no longer the stored one", async () => {
    const created = await under.store.create(node("n"));
    await under.store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
    created.metadata.labels = { a: "2" };
    await expect(under.store.update(created)).rejects.toMatchObject({ code: "conflict" });
    expect((await under.store.get(nodeRef("n")))?.metadata.labels).toEqual({ a: "1" });
  });

  it("refuses to update, patch, bind or delete what is absent", async () => {
    for (const change of [
      () => under.store.update(node("n")),
      () => under.store.patch(nodeRef("n"), {}),
      () => under.store.bind({ namespace: "default", name: "a" }, "n"),
      () => under.store.delete(nodeRef("n")),
    ]) {
      await expect(change()).rejects.toMatchObject({ code: "not_found" });
      await expect(change()).rejects.toBeInstanceOf(StoreError);
    }
  });

  it("raises the generation when the spec changes, and only then", async () => {
    const kind = KINDS.deployment;
    const template = {
      metadata: { labels: { app: "d" } },
      spec: { containers: [{ name: "main", image: "pause" }] },
    };
    const metadata = { name: "d", namespace: "default" };
    await under.store.create({
      ...kind,
      metadata,
      spec: { replicas: 1, selector: { matchLabels: { app: "d" } }, template },
    });
    const ref = { ...kind, ...metadata };
    const patched = async (patch: Record<string, unknown>) =>
      (await under.store.patch(ref, patch)).metadata.generation;
    expect(await patched({ metadata: { labels: { a: "1" } } })).toBe(1);
    expect(await patched({ spec: { replicas: 2 } })).toBe(2);
    expect(await patched({ spec: { replicas: 2 } })).toBe(2);
  });

  it("merges a patch: null deletes, objects merge, lists are replaced", async () => {
    await under.store.create(
      node("n", {
        metadata: { name: "n", labels: { a: "1", b: "2" } },
        spec: { taints: [{ key: "x", effect: "NoSchedule" }] },
      }),
    );
    const taints = [{ key: "y", effect: "NoExecute" }];
    const patched = await under.store.patch(nodeRef("n"), {
      metadata: { labels: { a: null, c: "3" } },
      spec: { taints },
    });
    expect(patched.metadata.labels).toEqual({ b: "2", c: "3" });
    expect(patched.spec).toMatchObject({ taints });
  });

  it("compares the version that a patch brings", async () => {
    const { metadata } = await under.store.create(node("n"));
    await under.store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
    const stale = under.store.patch(nodeRef("n"), {
      metadata: { resourceVersion: metadata.resourceVersion, labels: { a: "2" } },
    });
    await expect(stale).rejects.toMatchObject({ code: "conflict" });
  });

  it("takes a write that changes nothing for none: same version, no event", async () => {
    const created = await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    const watch = under.follow(KINDS.node, created.metadata.resourceVersion!);
    const same = await under.store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
    expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    await under.store.patch(nodeRef("n"), { metadata: { labels: { a: "2" } } });
    await under.waitFor(() => expect(watch.texts()).toEqual(["modified n"]));
  });

  it("refuses a change of a pod's node other than by bind", async () => {
    await under.store.create(pod("a"));
    await expect(under.store.patch(podRef("a"), { spec: { nodeName: "n" } })).rejects.toMatchObject({
      code: "invalid",
    });
  });
}
