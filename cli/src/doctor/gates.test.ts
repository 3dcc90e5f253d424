import {
  KINDS,
  MOVE_TO_ANNOTATION,
  MOVING_ANNOTATION,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  timestamp,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import type { Verdict } from "./finding.ts";
import { judgeGates, lookAtGates } from "./gates.ts";

const INSTALLATION = { release: "isochrone", namespace: "isochrone" };
const SERVICE = { namespace: "isochrone", name: "isochrone-scheduler-plugin", port: 443 };
const ENABLED = { [PLACEMENT_LABEL]: "enabled" };
const READY = { conditions: [{ type: "Ready", status: "True" }] };

interface Rig {
  readonly store: ClusterStore;
  mayOpen: boolean;
  metrics: string | null;
  readonly add: (...objects: readonly KubernetesObject[]) => Promise<void>;
  readonly later: (ms: number) => Promise<void>;
  readonly look: () => Promise<Record<string, Verdict>>;
}

function rig(): Rig {
  const clock = new ManualClock();
  const memory = createMemoryStore({ clock });
  const self: Rig = {
    mayOpen: true,
    metrics: null,
    store: {
      ...memory,
      list: memory.list.bind(memory),
      get: memory.get.bind(memory),
      delete: memory.delete.bind(memory),
      create: ((object) =>
        object.kind === "SubjectAccessReview"
          ? Promise.resolve({ ...object, status: { allowed: self.mayOpen } })
          : memory.create(object)) as ClusterStore["create"],
    },
    add: async (...objects) => {
      for (const object of objects) {
        const creationTimestamp = timestamp(clock.now());
        await memory.create({ ...object, metadata: { creationTimestamp, ...object.metadata } });
      }
    },
    later: (ms) => clock.advance(ms),
    look: async () => {
      const { store } = self;
      const metrics = () => Promise.resolve(self.metrics);
      const facts = await lookAtGates({
        store,
        installation: INSTALLATION,
        metrics,
        nowMs: () => clock.now(),
      });
      return Object.fromEntries(judgeGates(facts, "").map((verdict) => [verdict.check, verdict]));
    },
  };
  return self;
}

const podOf = (name: string, spec: Record<string, unknown> = {}, annotations = {}): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { namespace: "shop", name, annotations },
  spec: { containers: [], ...spec },
});
const gated = (name: string): KubernetesObject =>
  podOf(name, { schedulingGates: [{ name: PLACEMENT_GATE }] });
const AGGREGATOR: KubernetesObject = {
  ...KINDS.pod,
  metadata: {
    namespace: "isochrone",
    name: "isochrone-aggregator-0",
    labels: { "app.kubernetes.io/name": "isochrone-aggregator" },
  },
  spec: { containers: [] },
  status: READY,
};
const registration = (clientConfig: object = { service: SERVICE }): KubernetesObject => ({
  ...KINDS.mutatingWebhookConfiguration,
  metadata: { name: "isochrone-placement" },
  webhooks: [
    {
      clientConfig,
      namespaceSelector: { matchExpressions: [] },
      matchConditions: [
        { name: "has-a-scheduler-of-ours", expression: 'object.spec.schedulerName in ["default-scheduler"]' },
      ],
    },
  ],
});
const service = (port: number): KubernetesObject => ({
  ...KINDS.service,
  metadata: { namespace: SERVICE.namespace, name: SERVICE.name },
  spec: { ports: [{ port }] },
});
const slice = (ready: boolean): KubernetesObject => ({
  ...KINDS.endpointSlice,
  metadata: {
    namespace: SERVICE.namespace,
    name: `${SERVICE.name}-x`,
    labels: { "kubernetes.io/service-name": SERVICE.name },
  },
  endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready } }],
});

describe("gates", () => {
  test("are fine where nobody waits, and an aggregator would open them", async () => {
    const all = rig();
    await all.add(AGGREGATOR);
    const severities = Object.values(await all.look()).map(({ severity }) => severity);
    expect(severities).toEqual(["ok", "ok", "ok", "ok"]);
  });

  test("of pods that wait while nobody may open them are an error, at once", async () => {
    const all = rig();
    await all.add(AGGREGATOR, gated("web-1"));
    all.mayOpen = false;
    expect((await all.look())["opener of late gates"]).toMatchObject({
      severity: "error",
      value:
        "isochrone-aggregator may not patch pods, as with gates.enabled=false, while 1 pods wait: shop/web-1",
      remedy: expect.stringContaining("isochrone gates open --all"),
    });
  });

  test("without any aggregator are an error once the webhook sets some, and worth a word before", async () => {
    const all = rig();
    const opener = async () => (await all.look())["opener of late gates"]!;
    expect(await opener()).toMatchObject({
      severity: "info",
      value: "no aggregator is ready in namespace isochrone",
    });
    await all.add(registration());
    expect((await opener()).severity).toBe("error");
  });

  test("that are shut for too long are named, but not those that others hold too", async () => {
    const all = rig();
    const others = [{ name: "quota.dev/x" }, { name: PLACEMENT_GATE }];
    await all.add(AGGREGATOR, gated("web-1"), podOf("web-2", { schedulingGates: others }));
    const late = async () => (await all.look())["pods with the gate"]!;
    await all.later(120_000);
    expect(await late()).toMatchObject({ severity: "ok", value: "2, the oldest 120 s old" });
    await all.later(1_000);
    expect(await late()).toMatchObject({
      severity: "warning",
      value: expect.stringContaining("too long: shop/web-1"),
    });
    all.mayOpen = false;
    expect((await late()).severity).toBe("error");
  });
});

describe("the webhook's registration", () => {
  const troubleOf = async (all: Rig): Promise<string> => (await all.look())["webhook"]!.value;
  const where = "registered at Service isochrone/isochrone-scheduler-plugin, port 443";

  test("is an error where the API server finds nobody", async () => {
    const all = rig();
    await all.add(AGGREGATOR, registration());
    expect((await all.look())["webhook"]).toMatchObject({
      severity: "error",
      value: `${where}: there is no such Service`,
      remedy: expect.stringContaining("--remove-webhook"),
    });
    await all.add(service(8081));
    expect(await troubleOf(all)).toBe(`${where}: the Service hasn't that port`);
    await all.store.delete({ ...KINDS.service, namespace: SERVICE.namespace, name: SERVICE.name });
    await all.add(service(443), slice(false));
    expect(await troubleOf(all)).toBe(`${where}: none of its pods is ready`);
  });

  test("is fine with a pod that is ready, or outside of the cluster", async () => {
    const all = rig();
    await all.add(AGGREGATOR, registration(), service(443), slice(true));
    expect((await all.look())["webhook"]).toMatchObject({ severity: "ok", value: where });
    const outside = rig();
    await outside.add(registration({ url: "https://example.com/v1/pods/namespace" }));
    expect((await outside.look())["webhook"]).toMatchObject({ severity: "ok" });
  });
});

describe("pods without the webhook's answer", () => {
  test("are those that ask, and came after the registration", async () => {
    const all = rig();
    await all.add({ ...KINDS.namespace, metadata: { name: "shop", labels: ENABLED } }, podOf("before"));
    await all.later(5_000);
    await all.add(AGGREGATOR, registration(), service(443), slice(true));
    await all.add(podOf("answered", {}, { [WEBHOOK_ANSWER]: "gated" }), podOf("lost"));
    const unanswered = async () => (await all.look())["pods without the webhook's answer"]!;
    expect(await unanswered()).toMatchObject({ severity: "warning", value: "1: shop/lost" });
    all.metrics = [
      'apiserver_admission_webhook_fail_open_count{name="namespace.placement.isochrone.dev",type="admit"} 9',
      'apiserver_admission_webhook_fail_open_count{name="pod.placement.isochrone.dev",type="admit"} 1',
      'apiserver_admission_webhook_fail_open_count{name="other.example.com",type="admit"} 70',
    ].join("\n");
    expect((await unanswered()).value).toBe("1: shop/lost; the API server continued without it 10 times");
  });

  test("names pods whose move nobody finished", async () => {
    const { add, look } = rig();
    const release = { replicaSet: { name: "web-1", uid: "u" }, hash: "1", to: "n2", before: 0, replicas: 2 };
    const released = (name: string, deadline: string): KubernetesObject => {
      const annotations = { [MOVING_ANNOTATION]: JSON.stringify({ ...release, deadline }) };
      return { ...KINDS.pod, metadata: { name, namespace: "shop", annotations } };
    };
    expect((await look())["moving pods"]).toMatchObject({ severity: "ok", value: "none" });
    await add(released("web-1-a", "2999-01-01T00:00:00Z"));
    const marked = { [MOVE_TO_ANNOTATION]: "n3" };
    await add({ ...KINDS.pod, metadata: { name: "db-0", namespace: "shop", annotations: marked } });
    expect((await look())["moving pods"]).toMatchObject({
      severity: "info",
      value: "none is late, under way 2: shop/db-0 to n3, shop/web-1-a to n2",
      remedy: expect.stringContaining("--undo") as string,
    });
    await add(released("web-1-b", "1969-01-01T00:00:00Z"));
    expect((await look())["moving pods"]).toMatchObject({
      severity: "warning",
      value: "1: shop/web-1-b; under way 2: shop/db-0 to n3, shop/web-1-a to n2",
      remedy: expect.stringContaining("gates open --all") as string,
    });
  });
});

test("without a cluster the group is skipped, and says why", () => {
  expect(judgeGates(null, "no cluster is named")).toMatchObject([
    { severity: "skipped", value: "no cluster is named" },
  ]);
});
