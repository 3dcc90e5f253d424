import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { deployment, deploymentRef, node, nodeRef, pod } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

const annotated = (annotations: Record<string, string>): KubernetesObject =>
  node("n", { metadata: { name: "n", annotations } });

export function describeApply(under: StoreHarness): void {
  const annotations = async (): Promise<Record<string, string> | undefined> =>
    (await under.store.get(nodeRef("n")))?.metadata.annotations;

  it("creates what isn't there, and takes the same again for none: no version, no event", async () => {
    const object = annotated({ "example.com/a": "1" });
    const created = await under.store.apply(object, { fieldManager: "a" });
    expect(created.metadata.annotations).toMatchObject({ "example.com/a": "1" });
    const again = await under.store.apply(object, { fieldManager: "a" });
    expect(again.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  it("takes a map that was empty and isn't any more", async () => {
    await under.store.apply(annotated({}), { fieldManager: "a" });
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "a" });
    expect(await annotations()).toMatchObject({ "example.com/a": "1" });
  });

  it("does everything but write in a dry run", async () => {
    const dry = { fieldManager: "a", dryRun: true };
    const made = await under.store.apply(annotated({ "example.com/a": "1" }), dry);
    expect(made.metadata.annotations).toMatchObject({ "example.com/a": "1" });
    expect(await annotations()).toBe(undefined);
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "a" });
    const changed = await under.store.apply(annotated({ "example.com/a": "2" }), dry);
    expect(changed.metadata.annotations).toMatchObject({ "example.com/a": "2" });
    expect(await annotations()).toMatchObject({ "example.com/a": "1" });
    const refused = under.store.apply(annotated({ "example.com/a": "3" }), { ...dry, fieldManager: "b" });
    await expect(refused).rejects.toMatchObject({ code: "conflict" });
  });

  it("removes what its manager applied before and leaves out now, and nothing else", async () => {
    await under.store.create(annotated({ "example.com/other": "kept" }));
    await under.store.apply(annotated({ "example.com/a": "1", "example.com/b": "2" }), { fieldManager: "a" });
    await under.store.apply(annotated({ "example.com/b": "3" }), { fieldManager: "a" });
    expect(await annotations()).toEqual({ "example.com/other": "kept", "example.com/b": "3" });
  });

  it("refuses another value for a field of another manager, naming both, and changes nothing", async () => {
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "first" });
    const refused = under.store.apply(annotated({ "example.com/a": "2", "example.com/b": "2" }), {
      fieldManager: "second",
    });
    await expect(refused).rejects.toMatchObject({ code: "conflict" });
    await expect(refused).rejects.toThrow(/"first".*\.metadata\.annotations\.example\.com\/a/s);
    expect(await annotations()).toEqual({ "example.com/a": "1" });
  });

  it("takes a field over when forced: its first manager conflicts from then on, and no longer removes it", async () => {
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "first" });
    await under.store.apply(annotated({ "example.com/a": "2" }), { fieldManager: "second", force: true });
    expect(await annotations()).toEqual({ "example.com/a": "2" });
    await expect(
      under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "first" }),
    ).rejects.toMatchObject({ code: "conflict" });
    await under.store.apply(annotated({}), { fieldManager: "first" });
    expect(await annotations()).toEqual({ "example.com/a": "2" });
  });

  it("lets managers share a field that they agree on: it goes when the last one leaves it out", async () => {
    for (const fieldManager of ["a", "b"])
      await under.store.apply(annotated({ "example.com/x": "1" }), { fieldManager });
    await under.store.apply(annotated({ "example.com/y": "1" }), { fieldManager: "a" });
    expect(await annotations()).toEqual({ "example.com/x": "1", "example.com/y": "1" });
    await under.store.apply(annotated({}), { fieldManager: "b" });
    expect(await annotations()).toEqual({ "example.com/y": "1" });
  });

  it("loses a field to who patches it, and conflicts with it then", async () => {
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "applier" });
    await under.store.patch(
      nodeRef("n"),
      { metadata: { annotations: { "example.com/a": "2" } } },
      { fieldManager: "patcher" },
    );
    const refused = under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "applier" });
    await expect(refused).rejects.toThrow(/"patcher"/);
    await under.store.apply(annotated({}), { fieldManager: "applier" });
    expect(await annotations()).toEqual({ "example.com/a": "2" });
  });

  it("loses nothing to a patch or update of other fields", async () => {
    await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "applier" });
    await under.store.patch(
      nodeRef("n"),
      { metadata: { annotations: { "example.com/b": "2" } } },
      { fieldManager: "patcher" },
    );
    await under.store.update(
      { ...(await under.store.get(nodeRef("n")))!, spec: { unschedulable: true } },
      { fieldManager: "updater" },
    );
    await under.store.apply(annotated({ "example.com/a": "3" }), { fieldManager: "applier" });
    expect(await annotations()).toMatchObject({ "example.com/a": "3", "example.com/b": "2" });
  });

  it("merges containers, ports and variables by their keys", async () => {
    const first = deployment("d", {
      containers: [
        { name: "main", image: "pause", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] },
      ],
    });
    await under.store.apply(first, { fieldManager: "first" });
    const { apiVersion, kind, metadata } = first;
    const containers = [
      { name: "main", env: [{ name: "B", value: "2" }], ports: [{ containerPort: 81, protocol: "UDP" }] },
      { name: "side", image: "pause" },
    ];
    const sidecar = { apiVersion, kind, metadata, spec: { template: { spec: { containers } } } };
    const both = await under.store.apply(sidecar, { fieldManager: "second" });
    expect(both.spec).toMatchObject({
      template: {
        spec: {
          containers: [
            {
              name: "main",
              image: "pause",
              env: [
                { name: "A", value: "1" },
                { name: "B", value: "2" },
              ],
              ports: [{ containerPort: 80 }, { containerPort: 81 }],
            },
            { name: "side", image: "pause" },
          ],
        },
      },
    });
    const conflict = under.store.apply(
      {
        apiVersion,
        kind,
        metadata,
        spec: { template: { spec: { containers: [{ name: "main", image: "x" }] } } },
      },
      { fieldManager: "second" },
    );
    await expect(conflict).rejects.toThrow(/containers\[name="main"\]\.image/);
    await under.store.apply({ apiVersion, kind, metadata }, { fieldManager: "second" });
    expect((await under.store.get(deploymentRef("d")))?.spec).toMatchObject({
      template: { spec: { containers: [{ name: "main", env: [{ name: "A", value: "1" }] }] } },
    });
  });

  it("takes other lists as one value", async () => {
    const tainted = (...keys: string[]): KubernetesObject =>
      node("n", { spec: { taints: keys.map((key) => ({ key, effect: "NoSchedule" })) } });
    await under.store.apply(tainted("a"), { fieldManager: "a" });
    const refused = under.store.apply(tainted("b"), { fieldManager: "b" });
    await expect(refused).rejects.toThrow(/"a".*\.spec\.taints/s);
    const replaced = await under.store.apply(tainted("b"), { fieldManager: "b", force: true });
    const taints = replaced.spec?.["taints"] as { key: string }[];
    expect(taints.map(({ key }) => key)).toEqual(["b"]);
  });

  it("compares the version and uid that it brings", async () => {
    const { metadata } = await under.store.apply(annotated({ "example.com/a": "1" }), { fieldManager: "a" });
    await under.store.patch(nodeRef("n"), { metadata: { labels: { x: "1" } } });
    const stale = annotated({ "example.com/a": "2" });
    stale.metadata.resourceVersion = metadata.resourceVersion!;
    await expect(under.store.apply(stale, { fieldManager: "a" })).rejects.toMatchObject({ code: "conflict" });
  });

  it("of an object that it names by uid is refused when that is gone, and brings nothing back", async () => {
    const { uid } = (await under.store.create(node("n"))).metadata;
    await under.store.delete(nodeRef("n"));
    const late = annotated({ "example.com/a": "1" });
    late.metadata.uid = uid!;
    await expect(under.store.apply(late, { fieldManager: "a" })).rejects.toMatchObject({ code: "conflict" });
    expect(await under.store.get(nodeRef("n"))).toBeNull();
  });

  it("refuses what an API server refuses, by the same codes", async () => {
    const invalid = node("n", { metadata: { name: "n", labels: { a: "x y" } } });
    await expect(under.store.apply(invalid, { fieldManager: "a" })).rejects.toMatchObject({
      code: "invalid",
    });
    const { metadata } = pod("p");
    const absent = { ...KINDS.pod, metadata, status: { phase: "Running" } };
    await expect(
      under.store.apply(absent, { fieldManager: "a", subresource: "status" }),
    ).rejects.toMatchObject({ code: "not_found" });
  });
}
