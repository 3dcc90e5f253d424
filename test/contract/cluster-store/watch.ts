import { KINDS } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { node, nodeRef, pod } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeWatch(under: StoreHarness): void {
  it("reports every change after the version, in order, with the object of then", async () => {
    const { resourceVersion } = await under.store.list(KINDS.node);
    const watch = under.follow(KINDS.node, resourceVersion);
    await under.store.create(node("n"));
    await under.store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
    await under.store.delete(nodeRef("n"));
    await under.waitFor(() => expect(watch.texts()).toEqual(["added n", "modified n", "deleted n"]));
    const versions = watch.events.map((event) =>
      event.type === "bookmark" ? 0 : Number(event.object.metadata.resourceVersion),
    );
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).toBe(3);
  });

  it("resumes from any version that was seen, without loss or repeat", async () => {
    const created = await under.store.create(node("a"));
    const seen = await under.store.create(node("b"));
    await under.store.create(node("c"));
    const [fromFirst, fromSecond] = [
      under.follow(KINDS.node, created.metadata.resourceVersion!),
      under.follow(KINDS.node, seen.metadata.resourceVersion!),
    ];
    await under.waitFor(() => expect(fromFirst.texts()).toEqual(["added b", "added c"]));
    await under.waitFor(() => expect(fromSecond.texts()).toEqual(["added c"]));
  });

  it("keeps to its kind and namespace", async () => {
    const { resourceVersion } = await under.store.list(KINDS.pod);
    const [here, elsewhere] = [
      under.follow(KINDS.pod, resourceVersion, "default"),
      under.follow(KINDS.pod, resourceVersion, "other"),
    ];
    await under.store.create(node("n"));
    await under.store.create(pod("a"));
    await under.waitFor(() => expect(here.texts()).toEqual(["added a"]));
    expect(elsewhere.texts()).toEqual([]);
  });

  it("tells only of the objects with the values asked for, and of each what is wanted", async () => {
    const { resourceVersion } = await under.store.list(KINDS.pod);
    const fields = { "spec.nodeName": "n1" };
    const here = under.follow(KINDS.pod, resourceVersion, undefined, { fields, metadataOnly: true });
    const trimmed = under.follow(KINDS.pod, resourceVersion, undefined, {
      trim: ({ apiVersion, kind, metadata }) => ({
        apiVersion,
        kind,
        metadata: { ...metadata, labels: { cut: "1" } },
      }),
    });
    for (const name of ["a", "b"])
      await under.store.create(pod(name, name === "b" ? { nodeName: "n1" } : {}));
    await under.waitFor(() => expect(here.texts()).toEqual(["added b"]));
    expect(here.events[0]).not.toHaveProperty("object.spec");
    expect(here.events[0]).toHaveProperty("object.kind", "Pod");
    await under.waitFor(() => expect(trimmed.texts()).toEqual(["added a", "added b"]));
    expect(trimmed.events[0]).toHaveProperty("object.metadata.labels", { cut: "1" });
  });

  it("serves several watchers, each with copies of its own", async () => {
    const { resourceVersion } = await under.store.list(KINDS.node);
    const watches = [
      under.follow(KINDS.node, resourceVersion),
      under.follow(KINDS.node, resourceVersion),
    ] as const;
    await under.store.create(node("n"));
    for (const watch of watches) await under.waitFor(() => expect(watch.texts()).toEqual(["added n"]));
    const [one, other] = [watches[0].events[0], watches[1].events[0]];
    expect(one).toEqual(other);
    expect(one).not.toBe(other);
  });

  it("ends with its signal, without an error", async () => {
    const watch = under.follow(KINDS.node, (await under.store.list(KINDS.node)).resourceVersion);
    await under.store.create(node("n"));
    await under.waitFor(() => expect(watch.texts()).toEqual(["added n"]));
    under.endWatches();
    await watch.done;
  });

  it("refuses a version that is none", async () => {
    await expect(under.follow(KINDS.node, "yesterday").done).rejects.toMatchObject({ code: "invalid" });
  });

  it("says `expired` when the version is no longer kept", async (context) => {
    if (!under.overrun) context.skip();
    const { metadata } = await under.store.create(node("n"));
    await under.overrun?.();
    await expect(under.follow(KINDS.node, metadata.resourceVersion!).done).rejects.toMatchObject({
      code: "expired",
    });
  });

  it("sends a bookmark when only other kinds change, from which to resume", async (context) => {
    if (!under.pass) context.skip();
    const watch = under.follow(KINDS.node, (await under.store.list(KINDS.node)).resourceVersion);
    const { metadata } = await under.store.create(pod("a"));
    await under.pass?.(60_000);
    await under.waitFor(() =>
      expect(watch.events).toEqual([{ type: "bookmark", resourceVersion: metadata.resourceVersion }]),
    );
  });
}
