import { KINDS } from "@isochrone/kubernetes";
import type { KindRef, KubernetesObject } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { node, nodeRef, object, pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeDeletion(under: StoreHarness): void {
  const running = async (name: string, spec: Record<string, unknown> = {}): Promise<void> => {
    await under.store.create(pod(name, spec));
    await under.store.bind({ namespace: "default", name }, "n1");
  };

  it("removes an object at once", async () => {
    await under.store.create(node("n"));
    await under.store.delete(nodeRef("n"));
    expect(await under.store.get(nodeRef("n"))).toBeNull();
    await expect(under.store.delete(nodeRef("n"))).rejects.toMatchObject({ code: "not_found" });
  });

  it("marks a pod on a node first, and removes it when the kubelet deletes it with 0", async () => {
    await running("a", { terminationGracePeriodSeconds: 20 });
    await under.store.delete(podRef("a"));
    const marked = await under.store.get(podRef("a"));
    expect(marked?.metadata.deletionGracePeriodSeconds).toBe(20);
    expect(marked?.metadata.deletionTimestamp).toMatch(/Z$/);
    await under.store.delete(podRef("a"), { gracePeriodSeconds: 0 });
    expect(await under.store.get(podRef("a"))).toBeNull();
  });

  it("lets a second deletion shorten the time that is left, never lengthen it", async () => {
    await running("a");
    const grace = async (gracePeriodSeconds: number) => {
      await under.store.delete(podRef("a"), { gracePeriodSeconds });
      return (await under.store.get(podRef("a")))?.metadata.deletionGracePeriodSeconds;
    };
    expect(await grace(20)).toBe(20);
    expect(await grace(60)).toBe(20);
    expect(await grace(5)).toBe(5);
  });

  it("removes a pod that has no node at once: nobody would stop it", async () => {
    await under.store.create(pod("a"));
    await under.store.delete(podRef("a"));
    expect(await under.store.get(podRef("a"))).toBeNull();
  });

  it("keeps an object until its finalizers are gone, and takes no new ones meanwhile", async () => {
    await under.store.create(node("n", { metadata: { name: "n", finalizers: ["isochrone.dev/a"] } }));
    await under.store.delete(nodeRef("n"));
    expect((await under.store.get(nodeRef("n")))?.metadata.deletionTimestamp).toBeDefined();
    const more = under.store.patch(nodeRef("n"), {
      metadata: { finalizers: ["isochrone.dev/a", "isochrone.dev/b"] },
    });
    await expect(more).rejects.toMatchObject({ code: "invalid" });
    await under.store.patch(nodeRef("n"), { metadata: { finalizers: null } });
    expect(await under.store.get(nodeRef("n"))).toBeNull();
  });

  it("gives a new object of the same name another uid", async () => {
    const first = await under.store.create(node("n"));
    await under.store.delete(nodeRef("n"));
    const second = await under.store.create(node("n"));
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
  });

  it("deletes what was owned by a deleted object and by nobody else, down the chain", async (context) => {
    if (!under.collectsGarbage) context.skip();
    const owner = async (
      kind: KindRef,
      name: string,
      owners: KubernetesObject[] = [],
    ): Promise<KubernetesObject> =>
      await under.store.create({
        ...object(kind, name),
        metadata: {
          name,
          namespace: "default",
          ownerReferences: owners.map(({ apiVersion, kind, metadata }) => ({
            apiVersion,
            kind,
            name: metadata.name,
            uid: metadata.uid!,
          })),
        },
        spec: {
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: { containers: [{ name: "main", image: "pause" }] },
          },
        },
      });
    const deployment = await owner(KINDS.deployment, "d");
    const other = await owner(KINDS.deployment, "other");
    const replicaSet = await owner(KINDS.replicaSet, "d-1", [deployment]);
    await owner(KINDS.replicaSet, "shared", [deployment, other]);
    await under.store.create(
      pod(
        "p",
        {},
        { ownerReferences: [{ ...KINDS.replicaSet, name: "d-1", uid: replicaSet.metadata.uid! }] },
      ),
    );
    await under.store.delete({ ...KINDS.deployment, namespace: "default", name: "d" });
    await under.waitFor(async () => expect(await under.store.get(podRef("p"))).toBeNull());
    expect((await under.store.list(KINDS.replicaSet)).items.map(({ metadata }) => metadata.name)).toEqual([
      "shared",
    ]);
  });
}
