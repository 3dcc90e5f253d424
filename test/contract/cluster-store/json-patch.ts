import type { JsonPatchOperation } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { node, nodeRef, pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeJsonPatch(under: StoreHarness): void {
  it("adds, replaces and removes, with slashes and tildes of names escaped", async () => {
    await under.store.create(
      node("n", {
        metadata: { name: "n", labels: { a: "1", b: "2" }, annotations: { "example.com/x": "1" } },
      }),
    );
    const patched = await under.store.jsonPatch(nodeRef("n"), [
      { op: "test", path: "/metadata/annotations/example.com~1x", value: "1" },
      { op: "replace", path: "/metadata/annotations/example.com~1x", value: "2" },
      { op: "add", path: "/metadata/annotations/example.com~1y", value: "3" },
      { op: "remove", path: "/metadata/labels/a" },
    ]);
    expect(patched.metadata.annotations).toMatchObject({ "example.com/x": "2", "example.com/y": "3" });
    expect(patched.metadata.labels).toEqual({ b: "2" });
  });

  it("reaches elements of lists by place, and their end by a dash", async () => {
    const gate = (name: string): Record<string, string> => ({ name: `example.com/${name}` });
    const toleration = (key: string): Record<string, string> => ({ key, operator: "Exists" });
    await under.store.create(
      pod("a", { schedulingGates: [gate("a"), gate("b"), gate("c")], tolerations: [toleration("x")] }),
    );
    const patched = await under.store.jsonPatch(podRef("a"), [
      { op: "test", path: "/spec/schedulingGates/1", value: gate("b") },
      { op: "remove", path: "/spec/schedulingGates/1" },
      { op: "add", path: "/spec/tolerations/-", value: toleration("y") },
    ]);
    expect((patched.spec!["tolerations"] as unknown[]).at(-1)).toEqual(toleration("y"));
    expect(patched.spec?.["schedulingGates"]).toEqual([gate("a"), gate("c")]);
  });

  it.each<[string, JsonPatchOperation]>([
    ["a value that is another one", { op: "test", path: "/metadata/labels/a", value: "2" }],
    ["a version that is another one", { op: "test", path: "/metadata/resourceVersion", value: "999999999" }],
    ["a uid that is another one", { op: "test", path: "/metadata/uid", value: "x" }],
  ])("does nothing at all when it tests %s", async (_, test) => {
    await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    const refused = under.store.jsonPatch(nodeRef("n"), [
      { op: "add", path: "/metadata/labels/b", value: "1" },
      test,
      { op: "add", path: "/metadata/labels/c", value: "1" },
    ]);
    await expect(refused).rejects.toMatchObject({ code: "conflict" });
    expect((await under.store.get(nodeRef("n")))?.metadata.labels).toEqual({ a: "1" });
  });

  it.each<[string, JsonPatchOperation]>([
    ["removes what isn't there", { op: "remove", path: "/metadata/labels/none" }],
    ["adds below what isn't there", { op: "add", path: "/spec/none/below/it", value: "1" }],
  ])("refuses a patch that %s", async (_, operation) => {
    await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    await expect(under.store.jsonPatch(nodeRef("n"), [operation])).rejects.toMatchObject({ code: "invalid" });
  });

  it("refuses unexplained when nobody may look into it", async () => {
    await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    const test: JsonPatchOperation = { op: "test", path: "/metadata/labels/a", value: "2" };
    const refused = under.store.jsonPatch(nodeRef("n"), [test], { isUnexplained: true });
    await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^(conflict|invalid)$/) });
  });

  it("replaces what isn't there as if it added it", async () => {
    await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    const patched = await under.store.jsonPatch(nodeRef("n"), [
      { op: "replace", path: "/metadata/labels/b", value: "2" },
    ]);
    expect(patched.metadata.labels).toEqual({ a: "1", b: "2" });
  });

  it("refuses what the object may not become, and what is absent", async () => {
    await under.store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
    await expect(
      under.store.jsonPatch(nodeRef("n"), [{ op: "add", path: "/metadata/labels/b", value: "x y" }]),
    ).rejects.toMatchObject({ code: "invalid" });
    await expect(under.store.jsonPatch(nodeRef("m"), [])).rejects.toMatchObject({ code: "not_found" });
  });
}
