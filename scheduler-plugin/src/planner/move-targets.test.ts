// Targets of moves recorded on controllers, also for a workload's only pod. Real control plane:
// test/integration/descheduler-targets.test.ts.
import { KINDS, moveRecordPatch, PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { NAMESPACE, plannerRig } from "../testing/planner-rig.ts";

const WEB = { apiVersion: "apps/v1", namespace: NAMESPACE, name: "p-1" };
const KINDS_OF_OWNERS: readonly (readonly [string, Partial<KubernetesObject["metadata"]>])[] = [
  [
    "ReplicaSet",
    {
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "p", uid: "d", controller: true }],
    },
  ],
  ["ReplicaSet", {}],
  ["StatefulSet", {}],
];

describe.each(KINDS_OF_OWNERS)("the only pod of a %s, owned by %o,", (kind, metadata) => {
  const rig = plannerRig();
  const ref = { ...WEB, kind };

  let uid: string;
  const controller = async (): Promise<void> => {
    const made = await rig.store.create({
      apiVersion: WEB.apiVersion,
      kind,
      metadata: { namespace: NAMESPACE, name: WEB.name, ...metadata },
      spec: { replicas: 1, template: { metadata: { labels: { app: "p" } }, spec: {} } },
    });
    uid = made.metadata.uid ?? "";
  };

  const gated = async (name: string): Promise<void> => {
    const { apiVersion, name: ownerName } = WEB;
    const reference = { apiVersion, kind, name: ownerName, uid, controller: true };
    await rig.store.create({
      ...KINDS.pod,
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { app: "p", "isochrone.dev/workflow": "flow" },
        ownerReferences: [reference],
      },
      spec: {
        schedulingGates: [{ name: PLACEMENT_GATE }],
        containers: [{ name: "main", image: "none", resources: { requests: { cpu: "100m" } } }],
      },
    });
    await rig.clock.advance(1_000);
  };

  const plannedNode = async (): Promise<string | undefined> =>
    (await rig.read("p-1")).metadata.annotations?.[PLANNED_NODE_ANNOTATION];

  const record = async (to: string): Promise<void> => {
    const owner = (await rig.store.get(ref))!;
    const nowMs = rig.clock.now();
    const move = { podUid: "gone", from: "n3", to, deadlineMs: nowMs + 60_000 };
    await rig.store.jsonPatch(ref, moveRecordPatch(owner, move, { atMs: nowMs, coolDownMs: 1 }, nowMs));
  };

  const readsOfControllers = () => {
    const read = vi.spyOn(rig.store, "get");
    onTestFinished(() => read.mockRestore());
    return () => read.mock.calls.filter(([of]) => of.kind === kind).length;
  };

  test.each([false, true])(
    "goes to the recorded target, though nothing else of it is there; the leader is another one: %s",
    async (isNewLeader) => {
      await controller();
      if (isNewLeader) await record("n1");
      const { metric } = await rig.start({}, "evict");
      await rig.clock.advance(1_000);
      if (!isNewLeader) await record("n1");
      await gated("p-1");
      expect(await plannedNode()).toBe("n1");
      expect(await metric('isochrone_planner_moves_total{outcome="redeemed"}')).toBe(1);
    },
  );

  test("goes where the plan says, and the refusal is counted, if the target has filled up", async () => {
    await controller();
    const { metric } = await rig.start({}, "evict");
    await rig.clock.advance(1_000);
    await record("n1");
    await rig.store.create({
      ...KINDS.pod,
      metadata: { namespace: NAMESPACE, name: "late" },
      spec: {
        nodeName: "n1",
        containers: [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }],
      },
    });
    await gated("p-1");
    expect(await plannedNode()).toBe("n2");
    expect(await metric('isochrone_planner_moves_total{outcome="refused"}')).toBe(1);
  });

  test("costs no request of its controller while nothing of it moves", async () => {
    await controller();
    await rig.start({}, "evict");
    await rig.clock.advance(1_000);
    const reads = readsOfControllers();
    await gated("p-1");
    expect(await plannedNode()).toBe("n2");
    expect(reads()).toBe(0);
  });
});
