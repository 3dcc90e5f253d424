import { KINDS } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { deployment, deploymentRef, node, nodeRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeStatus(under: StoreHarness): void {
  it("is what a write through it changes, and all that it changes; the generation stays", async () => {
    await under.store.create(deployment("d"));
    const patched = await under.store.patch(
      deploymentRef("d"),
      { spec: { replicas: 7 }, status: { replicas: 3 } },
      { subresource: "status" },
    );
    expect(patched.status).toMatchObject({ replicas: 3 });
    expect(patched.spec).toMatchObject({ replicas: 1 });
    expect(patched.metadata.generation).toBe(1);
    const updated = await under.store.update(
      { ...patched, spec: { ...patched.spec, replicas: 7 }, status: { replicas: 4 } },
      { subresource: "status" },
    );
    expect(updated.status).toMatchObject({ replicas: 4 });
    expect(updated.spec).toMatchObject({ replicas: 1 });
    const stepped = await under.store.jsonPatch(
      deploymentRef("d"),
      [
        { op: "test", path: "/status/replicas", value: 4 },
        { op: "replace", path: "/status/replicas", value: 5 },
      ],
      { subresource: "status" },
    );
    expect(stepped.status).toMatchObject({ replicas: 5 });
    expect(stepped.metadata.generation).toBe(1);
  });

  it("is left alone by every other write", async () => {
    await under.store.create(deployment("d"));
    await under.store.patch(deploymentRef("d"), { status: { replicas: 3 } }, { subresource: "status" });
    const patched = await under.store.patch(deploymentRef("d"), {
      spec: { replicas: 2 },
      status: { replicas: 9 },
    });
    expect(patched.status).toMatchObject({ replicas: 3 });
    const { status: _, ...statusless } = patched;
    expect((await under.store.update(statusless)).status).toMatchObject({ replicas: 3 });
  });

  it("is applied through it, its conditions by type", async () => {
    await under.store.create(node("n"));
    const applied = async (fieldManager: string, type: string, status: string) =>
      await under.store.apply(node("n", { status: { conditions: [{ type, status }] } }), {
        fieldManager,
        subresource: "status",
      });
    await applied("a", "example.com/A", "True");
    const both = await applied("b", "example.com/B", "False");
    const pairs = (both.status!["conditions"] as { type: string; status: string }[]).map(
      ({ type, status }) => `${type}=${status}`,
    );
    expect(pairs).toEqual(["example.com/A=True", "example.com/B=False"]);
    await expect(applied("b", "example.com/A", "False")).rejects.toMatchObject({ code: "conflict" });
    expect((await applied("b", "example.com/B", "True")).metadata.annotations).toBe(
      both.metadata.annotations,
    );
  });

  it("takes an extended resource of a node, which its kubelet doesn't know", async () => {
    await under.store.create(node("n"));
    const resource = "network.aware.com/bandwidth";
    const patched = await under.store.patch(
      nodeRef("n"),
      { status: { capacity: { [resource]: "10G" } } },
      { subresource: "status" },
    );
    expect(patched.status?.["capacity"]).toMatchObject({ [resource]: "10G" });
  });

  it("isn't there for kinds that have none", async () => {
    await under.store.create({ ...KINDS.configMap, metadata: { name: "c", namespace: "default" } });
    const ref = { ...KINDS.configMap, namespace: "default", name: "c" };
    await expect(
      under.store.patch(ref, { status: { a: "1" } }, { subresource: "status" }),
    ).rejects.toMatchObject({ code: "not_found" });
  });
}
