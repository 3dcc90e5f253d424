import { KINDS, readRelease, releasePatch, restorePatch } from "@isochrone/kubernetes";
import type { JsonPatchOperation, KubernetesObject, OwnerReference } from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import { describe, expect, test } from "vitest";
import type { AdmissionTestbed } from "./testbed.ts";

const HASH = "6d4b75cb6d";
const MOVE = { to: "node-1", before: 0, deadlineMs: Date.parse("2099-01-01T00:00:00Z") };
const MOVING = "/metadata/annotations/isochrone.dev~1moving";
const owner = (kind: string, name: string, uid: string): OwnerReference => {
  return { apiVersion: "apps/v1", kind, name, uid, controller: true };
};
const DEPLOYMENT = owner("Deployment", "shop", "00000000-0000-4000-8000-000000000001");
const REPLICA_SET = owner("ReplicaSet", `shop-${HASH}`, "00000000-0000-4000-8000-000000000002");

export function describeMovingPods(testbed: AdmissionTestbed): void {
  describe("of a pod that is replaced before it goes", () => {
    const replicaSet: KubernetesObject = {
      ...KINDS.replicaSet,
      metadata: { name: REPLICA_SET.name, uid: REPLICA_SET.uid, ownerReferences: [DEPLOYMENT] },
      spec: { replicas: 2 },
    };
    const created = async (name: string): Promise<KubernetesObject> => {
      const [pod] = await testbed.cluster.create({
        ...KINDS.pod,
        metadata: {
          name,
          namespace: "default",
          labels: { app: "shop", "pod-template-hash": HASH },
          annotations: { "example.com/a": "b" },
          ownerReferences: [REPLICA_SET],
        },
        spec: { containers: [{ name: "app", image: "app" }] },
      });
      return pod!;
    };
    const pathOf = ({ metadata: { name } }: KubernetesObject): string =>
      `/api/v1/namespaces/default/pods/${name}`;
    const now = async ({ metadata: { name } }: KubernetesObject): Promise<KubernetesObject> =>
      (await testbed.cluster.get({ ...KINDS.pod, namespace: "default", name }))!;
    const altered = (
      patch: readonly JsonPatchOperation[],
      path: string,
      change: (value: unknown) => unknown,
    ): JsonPatchOperation[] =>
      patch.map((each) =>
        each.path === path && "value" in each ? { ...each, value: change(each.value) } : each,
      );
    const withOwner = (patch: readonly JsonPatchOperation[], fields: Partial<OwnerReference>) =>
      altered(patch, "/metadata/ownerReferences", (value) =>
        looseList<OwnerReference>(value).map((each) => ({ ...each, ...fields })),
      );
    const without = (patch: readonly JsonPatchOperation[], path: string): JsonPatchOperation[] =>
      patch.filter((each) => each.path !== path);

    test("it is taken out of its ReplicaSet, and given back", async () => {
      const pod = await created("moves");
      const release = releasePatch(pod, replicaSet, MOVE)!;
      for (const account of ["aggregator", "uninstall"] as const)
        expect(await testbed.denialOf(account, ["PATCH", pathOf(pod), release])).toContain("metadata.labels");
      expect(await testbed.verdict("scheduler-plugin", "PATCH", pathOf(pod), release)).toBe("ok");
      for (const account of ["uninstall", "scheduler-plugin"] as const) {
        const released = await now(pod);
        expect(released.metadata.ownerReferences).toEqual([DEPLOYMENT]);
        const back = restorePatch(released, readRelease(released)!);
        expect(await testbed.denialOf("aggregator", ["PATCH", pathOf(pod), back])).toContain(
          "metadata.labels",
        );
        expect(await testbed.verdict(account, "PATCH", `${pathOf(pod)}?dryRun=All`, back)).toBe("ok");
      }
    });

    test("nothing changes beside that", async () => {
      const pod = await created("stays");
      const release = releasePatch(pod, replicaSet, MOVE)!;
      const label = "/metadata/labels/pod-template-hash";
      const denied = async (patch: readonly JsonPatchOperation[], what: string): Promise<void> =>
        expect(await testbed.denialOf("scheduler-plugin", ["PATCH", pathOf(pod), patch])).toContain(what);
      await denied(without(release, label), "metadata.ownerReferences");
      await denied(without(release, "/metadata/ownerReferences"), "metadata.labels");
      await denied(without(release, MOVING), "metadata.labels");
      await denied([...release, { op: "remove", path: "/metadata/labels/app" }], "metadata.labels");
      await denied([...release, { op: "add", path: "/metadata/labels/a", value: "b" }], "metadata.labels");
      await denied(withOwner(release, { name: "other" }), "metadata.ownerReferences");
      await denied(withOwner(release, { kind: "StatefulSet" }), "metadata.ownerReferences");
      await denied(withOwner(release, { controller: false }), "metadata.ownerReferences");
      await denied(
        altered(release, "/metadata/ownerReferences", (value) => [
          ...looseList(value),
          { ...DEPLOYMENT, controller: false },
        ]),
        "metadata.ownerReferences",
      );
      await denied(
        altered(release, MOVING, () => "{}"),
        "metadata.labels",
      );
      await denied([{ op: "add", path: MOVING, value: "{}" }], "isochrone.dev/moving");

      expect(await testbed.verdict("scheduler-plugin", "PATCH", pathOf(pod), release)).toBe("ok");
      const released = await now(pod);
      const back = restorePatch(released, readRelease(released)!);
      await denied(without(back, label), "metadata.ownerReferences");
      await denied(without(back, "/metadata/ownerReferences"), "metadata.labels");
      await denied(without(back, MOVING), "metadata.labels");
      await denied(
        altered(back, label, () => "other"),
        "metadata.labels",
      );
      await denied(withOwner(back, { name: "other" }), "metadata.ownerReferences");
      await denied(withOwner(back, { uid: DEPLOYMENT.uid.replace(/1$/, "3") }), "metadata.ownerReferences");
      await denied([{ op: "replace", path: MOVING, value: "{}" }], "isochrone.dev/moving");
    });
  });
}
