import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { FieldSelector } from "@isochrone/kubernetes/testing";
import { expect, it } from "vitest";
import { node, nodeRef, object, pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeObjects(under: StoreHarness): void {
  it("gives a new object its uid, version, generation and time, and returns what it stored", async () => {
    const created = await under.store.create(pod("a", {}, { labels: { app: "x" } }));
    expect(created.metadata).toMatchObject({
      name: "a",
      namespace: "default",
      generation: 1,
      labels: { app: "x" },
    });
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(created.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(await under.store.get(podRef("a"))).toEqual(created);
  });

  it("answers null for what doesn't exist", async () => {
    expect(await under.store.get(podRef("a"))).toBeNull();
  });

  it("refuses a second object of one name, but not in another namespace or of another kind", async () => {
    await under.store.create(
      object(KINDS.service, "a", {
        metadata: { name: "a", namespace: "default" },
        spec: { ports: [{ port: 80 }] },
      }),
    );
    await under.store.create(pod("a"));
    await expect(under.store.create(pod("a"))).rejects.toMatchObject({
      name: "StoreError",
      code: "already_exists",
    });
  });

  it("gives copies: changing what went in or came out changes nothing", async () => {
    const sent = node("n", { metadata: { name: "n", labels: { a: "1" } } });
    const created = await under.store.create(sent);
    sent.metadata.labels!["a"] = "2";
    created.metadata.labels!["a"] = "3";
    (await under.store.get(nodeRef("n")))!.metadata.labels!["a"] = "4";
    (await under.store.list(KINDS.node)).items[0]!.metadata.labels!["a"] = "5";
    expect((await under.store.get(nodeRef("n")))?.metadata.labels).toEqual({ a: "1" });
  });

  it.each([
    ["an upper-case name", node("Node")],
    ["a name that ends in a dash", node("node-")],
    ["a name of more than 253 characters", node("a".repeat(254))],
    ["an empty name", node("")],
    ["a namespace with a dot", pod("a", {}, { namespace: "a.b" })],
    [
      "a label value of more than 63 characters",
      node("n", { metadata: { name: "n", labels: { a: "x".repeat(64) } } }),
    ],
    ["a label key with two slashes", node("n", { metadata: { name: "n", labels: { "a/b/c": "x" } } })],
    [
      "an annotation name of more than 63 characters",
      node("n", { metadata: { name: "n", annotations: { [`isochrone.dev/${"x".repeat(64)}`]: "1" } } }),
    ],
  ])("refuses %s", async (_, invalid) => {
    await expect(under.store.create(invalid)).rejects.toMatchObject({ code: "invalid" });
  });

  it("takes an annotation name of exactly 63 characters after its prefix", async () => {
    const key = `isochrone.dev/${"x".repeat(63)}`;
    const created = await under.store.create(
      node("n", { metadata: { name: "n", annotations: { [key]: "1" } } }),
    );
    expect(created.metadata.annotations).toEqual({ [key]: "1" });
  });

  it("lists one kind by namespace and by equality of labels, with the version to watch from", async () => {
    await under.store.create(pod("b", {}, { labels: { app: "x", tier: "1" } }));
    await under.store.create(pod("a", {}, { labels: { app: "x" } }));
    await under.store.create(pod("c", {}, { labels: { app: "y" } }));
    await under.store.create(node("n", { metadata: { name: "n", labels: { app: "x" } } }));
    const names = async (options: Parameters<ClusterStore["list"]>[1]): Promise<string[]> =>
      (await under.store.list(KINDS.pod, options)).items.map(({ metadata }) => metadata.name);
    expect(await names({})).toEqual(["a", "b", "c"]);
    expect(await names({ labels: { app: "x" } })).toEqual(["a", "b"]);
    expect(await names({ labels: { app: "x", tier: "1" } })).toEqual(["b"]);
    expect(await names({ namespace: "default" })).toEqual(["a", "b", "c"]);
    expect(await names({ namespace: "other" })).toEqual([]);
  });

  it("lists by values of fields", async () => {
    for (const name of ["a", "b"]) await under.store.create(pod(name));
    await under.store.bind({ namespace: "default", name: "b" }, "n1");
    const names = async (fields: FieldSelector): Promise<string[]> =>
      (await under.store.list(KINDS.pod, { fields })).items.map(({ metadata }) => metadata.name);
    expect(await names({ "metadata.name": "a" })).toEqual(["a"]);
    expect(await names({ "spec.nodeName": "n1" })).toEqual(["b"]);
    expect(await names({ "spec.nodeName": "n1", "metadata.name": "a" })).toEqual([]);
  });

  it("gives of each object what is wanted of it, and nobody's managedFields", async () => {
    await under.store.create(pod("a", {}, { labels: { app: "x" } }));
    const [full] = (await under.store.list(KINDS.pod)).items;
    expect(full).toMatchObject({ ...KINDS.pod, spec: { containers: [{ name: "main" }] } });
    expect(full!.metadata).not.toHaveProperty("managedFields");
    const [bare] = (await under.store.list(KINDS.pod, { metadataOnly: true })).items;
    expect(bare).toEqual({ ...KINDS.pod, metadata: full!.metadata });
    const trim = ({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject => ({
      apiVersion,
      kind,
      metadata: { name: metadata.name },
    });
    expect((await under.store.list(KINDS.pod, { trim })).items).toEqual([
      { ...KINDS.pod, metadata: { name: "a" } },
    ]);
  });

  it("answers a review, and stores it nowhere", async () => {
    const review = { ...KINDS.tokenReview, metadata: { name: "" }, spec: { token: "no such token" } };
    const answered = await under.store.create(review);
    expect(answered.status?.["authenticated"] ?? false).toBe(false);
    const access = await under.store.create({
      ...KINDS.subjectAccessReview,
      metadata: { name: "" },
      spec: { user: "nobody", nonResourceAttributes: { path: "/graph", verb: "get" } },
    });
    expect(access.status).toMatchObject({ allowed: false });
  });
}
