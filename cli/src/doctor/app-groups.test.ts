import { KINDS, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { judgeAppGroups, lookAtAppGroups } from "./app-groups.ts";

let store: ClusterStore;
beforeEach(() => {
  store = createMemoryStore({ clock: new ManualClock() });
});

const labels = (group: string, selector: string): Record<string, string> => ({
  "appgroup.diktyo.x-k8s.io": group,
  "appgroup.diktyo.x-k8s.io.workload": selector,
});
const group = (namespace: string, name: string, ...selectors: string[]): KubernetesObject => ({
  ...KINDS.appGroup,
  metadata: { namespace, name },
  spec: {
    workloads: selectors.map((selector) => ({ workload: { kind: "Deployment", name: "x", selector } })),
  },
});
const deployment = (namespace: string, name: string, group: string, selector: string): KubernetesObject => ({
  ...KINDS.deployment,
  metadata: { namespace, name },
  spec: { replicas: 0, template: { metadata: { labels: labels(group, selector) } } },
});
const pod = (namespace: string, name: string, group: string, selector: string): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { namespace, name, labels: labels(group, selector) },
  spec: { containers: [{ name: "c", image: "none" }] },
});
const judged = async (): Promise<unknown> => {
  const [found] = judgeAppGroups(await lookAtAppGroups(store), "not installed");
  return [found!.severity, found!.value, found!.remedy === null];
};

test("every selector that a pod or a template of its namespace carries is well", async () => {
  for (const object of [
    group("shop", "a1", "p1", "p2"),
    deployment("shop", "rel-web", "a1", "p1"),
    pod("shop", "bare", "a1", "p2"),
  ])
    await store.create(object);
  expect(await judged()).toEqual(["ok", "1 AppGroups, every selector matches", true]);
});

test("names AppGroups whose selectors match nothing, by name, AppGroup or namespace, and what to do", async () => {
  for (const object of [
    group("shop", "a1", "p1", "p2", "p3"),
    group("shop", "a2", "p1"),
    {
      ...group("shop", "seen", "p9"),
      metadata: { namespace: "shop", name: "seen", annotations: { "isochrone.dev/appgroup-generated": "x" } },
    },
    deployment("shop", "p2", "a1", "p1"),
    pod("evil", "p3", "a1", "p3"),
  ])
    await store.create(object);
  expect(await judged()).toEqual([
    "warning",
    'no pod and no pod template for shop/a1: "p2", "p3"; shop/a2: "p1"',
    false,
  ]);
});

test("says no more than can be read of many", async () => {
  for (let at = 0; at < 9; at++)
    await store.create(group("shop", `g${at}`, ...Array.from({ length: 9 }, (_, which) => `s${which}`)));
  const [, value] = (await judged()) as [string, string];
  expect(value).toContain('shop/g0: "s0", "s1", "s2", "s3", "s4" and 4 more; ');
  expect(value).toMatch(/; and 4 more AppGroups$/);
});

test("skips it where AppGroups aren't installed, or no cluster is named", async () => {
  const list = (): never => {
    throw new StoreError("not_found", "no such kind");
  };
  const [none] = judgeAppGroups(await lookAtAppGroups({ ...store, list }), "not installed");
  expect(none).toMatchObject({ severity: "skipped", value: "not installed" });
});
