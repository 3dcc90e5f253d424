import { KINDS, type ClusterStore, type KubernetesObject, type ObjectRef } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { fullName, type ClusterState } from "../domain/cluster-state.ts";
import { deploymentObject, nodeObject, podObject } from "../testing/cluster.ts";
import { StoreClusterWatch } from "./store-cluster-watch.ts";

const RUNS = 200;
const STEPS = 60;
const NAMESPACE = "shop";
const REPLICA_SETS = ["web-1", "api-1"];
const PODS = ["p1", "p2", "p3"];

type Step = (store: ClusterStore) => Promise<unknown>;
type Owners = NonNullable<KubernetesObject["metadata"]["ownerReferences"]>;

const owners = (kind: string, name: string): Owners => [
  { apiVersion: "apps/v1", kind, name, uid: name, controller: true },
];

const named = (kind: "node" | "pod" | "replicaSet" | "deployment", name: string): ObjectRef =>
  kind === "node" ? { ...KINDS.node, name } : { ...KINDS[kind], namespace: NAMESPACE, name };

function owned(object: KubernetesObject, ownerReferences: Owners): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

const replicaSet = (name: string): KubernetesObject => ({
  ...KINDS.replicaSet,
  metadata: { namespace: NAMESPACE, name },
});

const OBJECTS = [
  ...["a", "b"].map((name) => nodeObject(name, "z1")),
  ...REPLICA_SETS.flatMap((name) => [
    replicaSet(name),
    owned(replicaSet(name), owners("Deployment", name.slice(0, 3))),
  ]),
  ...PODS.flatMap((name) =>
    REPLICA_SETS.map((set) => owned(podObject(NAMESPACE, name, "a"), owners("ReplicaSet", set))),
  ),
  deploymentObject(NAMESPACE, "web", "checkout", { "isochrone.dev/dependencies": '[{"name": "api"}]' }),
  {
    ...KINDS.appGroup,
    metadata: { namespace: NAMESPACE, name: "group" },
    spec: { workloads: [{ workload: { selector: "s1" }, dependencies: [{ workload: { selector: "s2" } }] }] },
  },
];
const inGroup = (selector: string | null): Record<string, string | null> => ({
  "appgroup.diktyo.x-k8s.io": "group",
  "appgroup.diktyo.x-k8s.io.workload": selector,
});
const REFS = [
  ...["a", "b"].map((name) => named("node", name)),
  ...REPLICA_SETS.map((name) => named("replicaSet", name)),
  ...PODS.map((name) => named("pod", name)),
  named("deployment", "web"),
  { ...KINDS.appGroup, namespace: NAMESPACE, name: "group" },
];
const PATCHES = [
  ["pod", { metadata: { labels: { "isochrone.dev/workflow": "checkout" } } }],
  ["pod", { metadata: { labels: { "isochrone.dev/workflow": null } } }],
  ["pod", { metadata: { labels: inGroup("s1") } }],
  ["pod", { metadata: { labels: inGroup("s2") } }],
  ["pod", { metadata: { labels: inGroup(null) } }],
  ["deployment", { spec: { template: { metadata: { labels: inGroup("s1") } } } }],
  ["pod", { metadata: { annotations: { "kubernetes.io/ingress-bandwidth": "10M" } } }],
  ["pod", { metadata: { annotations: { "kubernetes.io/ingress-bandwidth": null } } }],
  ["pod", { metadata: { ownerReferences: owners("ReplicaSet", "api-1") } }],
  ["pod", { metadata: { ownerReferences: null } }],
  ["pod", { status: { phase: "Succeeded" } }],
  ["pod", { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } }],
  ["replicaSet", { metadata: { ownerReferences: owners("Deployment", "other") } }],
  ["replicaSet", { metadata: { ownerReferences: null } }],
  ["node", { spec: { unschedulable: true } }],
  ["deployment", { metadata: { annotations: { "isochrone.dev/dependencies": null } } }],
] as const;
const NAMES = { node: ["a", "b"], pod: PODS, replicaSet: REPLICA_SETS, deployment: ["web"] };

/** Invalid steps, such as a second creation, have no effect. */
function randomStep(pick: <T>(from: readonly T[]) => T): Step {
  const kind = pick(["create", "create", "patch", "patch", "patch", "delete"]);
  if (kind === "create") return (store) => store.create(pick(OBJECTS));
  if (kind === "delete") return (store) => store.delete(pick(REFS), { gracePeriodSeconds: 0 });
  const [of, patch] = pick(PATCHES);
  return (store) => store.patch(named(of, pick(NAMES[of])), patch);
}

describe("StoreClusterWatch", () => {
  test("that followed the changes reads the same as one that begins after them, however often it was asked", async () => {
    const random = seededRandom(7);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const seen = new Set<string>();
    const sources = new Set<string>();
    for (let run = 0; run < RUNS; run += 1) {
      const clock = new ManualClock();
      const store = createMemoryStore({ clock });
      const surroundings = { store, clock, random, logger: new MemoryLogger() };
      const following = new StoreClusterWatch(surroundings);
      await following.start();
      for (let step = 0; step < STEPS; step += 1) {
        await randomStep(pick)(store).catch(() => undefined);
        await clock.advance(1);
        if (pick([true, false])) following.current();
      }
      const fresh = new StoreClusterWatch(surroundings);
      await fresh.start();
      await clock.advance(1);
      expect(sorted(following.current())).toEqual(sorted(fresh.current()));
      for (const { workload } of fresh.current().pods) seen.add(workload?.name ?? "none");
      for (const { source, target } of fresh.current().declared)
        sources.add(`${source.name} -> ${target.name}`);
      await Promise.all([following.stop(), fresh.stop()]);
    }
    expect([...seen].sort()).toEqual(["api", "api-1", "none", "other", "web", "web-1"]);
    // Sources: the annotation, the AppGroup before a pod carries its selector, and the AppGroup with such
    // pods.
    expect([...sources]).toEqual(
      expect.arrayContaining(["web -> api", "s1 -> s2", "api -> s2", "web -> api-1"]),
    );
  });
});

function sorted(state: ClusterState): ClusterState {
  const byName = (a: { namespace: string; name: string }, b: { namespace: string; name: string }): number =>
    fullName(a).localeCompare(fullName(b));
  return { ...state, pods: state.pods.toSorted(byName), workloads: state.workloads.toSorted(byName) };
}
