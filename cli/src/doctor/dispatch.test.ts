import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { judgeDispatch, lookAtDispatch } from "./dispatch.ts";

let store: ClusterStore;
beforeEach(async () => {
  store = createMemoryStore({ clock: new ManualClock() });
  await store.create(node("a", "west"));
});

const node = (name: string, zone: string | null): KubernetesObject => ({
  ...KINDS.node,
  metadata: { name, labels: zone === null ? {} : { "topology.kubernetes.io/zone": zone } },
});

async function service(
  name: string,
  lever: string | null,
  port: object,
  zones: readonly string[],
): Promise<void> {
  const annotations: Record<string, string> = lever === null ? {} : { "isochrone.dev/dispatch": lever };
  await store.create({
    ...KINDS.service,
    metadata: { namespace: "shop", name, annotations },
    spec: { ports: [port] },
  });
  await store.create({
    ...KINDS.endpointSlice,
    metadata: { namespace: "shop", name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: zones.map((zone, i) => ({ addresses: [`10.0.0.${i}`], zone })),
  });
}

const cilium = (value: string): KubernetesObject => ({
  ...KINDS.configMap,
  metadata: { namespace: "kube-system", name: "cilium-config" },
  data: { "enable-service-topology": value },
});

async function judged(): Promise<Record<string, string>> {
  const found = judgeDispatch(await lookAtDispatch(store), "");
  for (const { severity, remedy } of found) expect(remedy === null).toBe(severity === "ok");
  return Object.fromEntries(found.map(({ check, severity, value }) => [check, `${severity}: ${value}`]));
}

test("Services that ask for nothing are no finding, whatever they are like", async () => {
  await store.create(node("b", null));
  await store.create(cilium("false"));
  await service("db", null, { port: 1, name: "grpc" }, ["west"]);
  expect(await judged()).toEqual({
    endpoints: "ok: 0 Services ask for zone weights",
    connections: "ok: no port of a long-lived protocol",
    zones: "ok: b",
    Cilium: "ok: enable-service-topology is not true",
  });
});

test("few endpoints, long connections, missing zones, and a Cilium that heeds no hints are said", async () => {
  await store.create(node("b", null));
  await store.create(cilium("false"));
  await service("db", "hints", { port: 50051, appProtocol: "kubernetes.io/h2c" }, ["west", "west"]);
  expect(await judged()).toEqual({
    endpoints: "warning: shop/db: zone west has 2 of at least 3 endpoints: its shares are coarse",
    connections: "warning: shop/db: port 50051 (kubernetes.io/h2c) keeps its connections",
    zones: "warning: b",
    Cilium: "warning: enable-service-topology is not true",
  });
});

test("all is well with enough of each, and without Cilium nothing is said of it", async () => {
  await service("db", "hints", { port: 80, name: "http" }, ["west", "west", "west"]);
  expect(await judged()).toEqual({
    endpoints: "ok: 1 Services ask for zone weights",
    connections: "ok: no port of a long-lived protocol",
    zones: "ok: every node has a zone",
  });
  await store.create(cilium("true"));
  expect((await judged())["Cilium"]).toBe("ok: enable-service-topology is true");
});
