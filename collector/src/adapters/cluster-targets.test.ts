import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Target } from "../ports/ports.ts";
import {
  ciliumPod,
  gatewayPod,
  injectedPod,
  linkerdPod,
  nativeSidecarPod,
  node,
  pod,
  ztunnelPod,
} from "../testing/pods.ts";
import { podTargetRule } from "../discovery/pod-targets.ts";
import { ClusterTargets, DEFAULT_DISCOVERY, type DiscoveryOptions } from "./cluster-targets.ts";

describe("ClusterTargets", () => {
  const clock = new ManualClock();
  let store: ClusterStore;
  let found: ClusterTargets | null = null;

  beforeEach(() => {
    store = createMemoryStore({ clock });
  });
  afterEach(async () => {
    await found?.stop();
    found = null;
  });

  const discover = async (
    objects: readonly KubernetesObject[],
    discovery: Partial<DiscoveryOptions> = {},
  ): Promise<ClusterTargets> => {
    for (const object of objects) await store.create(object);
    found = new ClusterTargets({
      store,
      clock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
      node: "n1",
      discovery: { ...DEFAULT_DISCOVERY, ...discovery },
    });
    await found.start();
    return found;
  };
  const targetsOf = async (...args: Parameters<typeof discover>): Promise<readonly Target[]> =>
    (await discover(...args)).targets();
  const pagesOf = async (...args: Parameters<typeof discover>): Promise<string[]> =>
    (await targetsOf(...args)).map(({ role, url }) => `${role} ${url}`).toSorted();

  describe("the kubelet", () => {
    it("is read by address, over TLS with the kubelet's rules; its resource page stands in", async () => {
      expect(await targetsOf([node("n1", ["192.0.2.1"]), node("n2", ["192.0.2.2"])])).toEqual([
        {
          kind: "cadvisor",
          role: "kubelet",
          url: "https://192.0.2.1:10250/metrics/cadvisor",
          instance: "kubelet/n1",
          access: "kubelet",
        },
        {
          kind: "resource",
          role: "kubelet",
          url: "https://192.0.2.1:10250/metrics/resource",
          instance: "kubelet/n1/resource",
          access: "kubelet",
          standsInFor: "kubelet/n1",
        },
      ]);
    });

    it("may have another port, address family and page", async () => {
      const kubelet = { pages: ["resource"] } as const;
      const nodes = [node("n1", ["192.0.2.1", "2001:db8::1"], 10_260)];
      expect(await targetsOf(nodes, { kubelet, addressFamily: "ipv6" })).toEqual([
        {
          kind: "resource",
          role: "kubelet",
          url: "https://[2001:db8::1]:10260/metrics/resource",
          instance: "kubelet/n1/resource",
          access: "kubelet",
        },
      ]);
    });

    it("is at the usual port where nobody has set one, which the API server shows as 0", async () => {
      expect((await pagesOf([node("n1", ["192.0.2.1"], 0)]))[0]).toBe(
        "kubelet https://192.0.2.1:10250/metrics/cadvisor",
      );
    });

    it("is not read while the node has no address of the family", async () => {
      expect(await targetsOf([node("n1", ["192.0.2.1"])], { addressFamily: "ipv6" })).toEqual([]);
    });
  });

  describe("Istio's proxies", () => {
    it.each([
      ["a sidecar", injectedPod()],
      ["a native sidecar", nativeSidecarPod()],
      [
        "a sidecar whose pod is not ready",
        injectedPod({ status: { conditions: [{ type: "Ready", status: "False" }] } }),
      ],
      [
        "a native sidecar that serves other init containers",
        nativeSidecarPod({
          status: {
            phase: "Pending",
            initContainerStatuses: [{ name: "istio-proxy", state: { running: {} } }],
            containerStatuses: [{ name: "app", state: { waiting: { reason: "PodInitializing" } } }],
          },
        }),
      ],
      ["a sidecar without annotations", injectedPod({ annotations: { "prometheus.io/scrape": "false" } })],
    ])("of %s are read from Envoy's own port", async (_, object) => {
      expect(await targetsOf([object])).toEqual([
        {
          kind: "istio",
          role: "sidecar",
          url: "http://10.1.0.7:15090/stats/prometheus",
          instance: "shop/cart-0",
          namespace: "shop",
          scope: { of: "pod", namespace: "shop", workloads: ["cart-0"], serves: [] },
        },
      ]);
    });

    it("are read from the merged page if there is no other", async () => {
      const annotations = {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "15020",
        "prometheus.io/path": "/stats/prometheus",
      };
      expect(await pagesOf([pod({ annotations })])).toEqual([
        "sidecar http://10.1.0.7:15020/stats/prometheus",
      ]);
    });

    it("include waypoints, gateways and the node's ztunnel", async () => {
      const old = { "istio.io/gateway-name": "old" };
      expect(
        await pagesOf([
          gatewayPod("istio-waypoint"),
          gatewayPod("istio", { name: "gateway" }),
          injectedPod({ name: "of-1-19", labels: old }),
          injectedPod({ name: "of-the-chart", annotations: { "inject.istio.io/templates": "gateway" } }),
          ztunnelPod(),
        ]),
      ).toEqual([
        "gateway http://10.1.0.7:15090/stats/prometheus",
        "gateway http://10.1.0.7:15090/stats/prometheus",
        "gateway http://10.1.0.7:15090/stats/prometheus",
        "waypoint http://10.1.0.7:15090/stats/prometheus",
        "ztunnel http://10.1.0.7:15020/stats/prometheus",
      ]);
    });

    it.each<[string, KubernetesObject]>([
      ["on another node", injectedPod({ node: "n2" })],
      ["not placed", pod({ spec: { nodeName: undefined } })],
      ["without an address", injectedPod({ status: { podIP: undefined, podIPs: [] } })],
      ["with an address that is none", injectedPod({ status: { podIP: "evil.example", podIPs: [] } })],
      ["completed", injectedPod({ status: { phase: "Succeeded" } })],
      ["failed", injectedPod({ status: { phase: "Failed" } })],
      [
        "whose proxy waits",
        injectedPod({ status: { containerStatuses: [{ name: "istio-proxy", state: { waiting: {} } }] } }),
      ],
      [
        "whose proxy has ended",
        nativeSidecarPod({
          status: { initContainerStatuses: [{ name: "istio-proxy", state: { terminated: {} } }] },
        }),
      ],
      [
        "whose containers have not begun",
        injectedPod({ status: { phase: "Pending", containerStatuses: [] } }),
      ],
      ["on the node's network", injectedPod({ spec: { hostNetwork: true } })],
      ["without a proxy", pod()],
      [
        "whose annotated page is its application's",
        pod({ annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "8080" } }),
      ],
      [
        "whose annotated path points elsewhere",
        pod({
          annotations: {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "80",
            "prometheus.io/path": "@evil.example/stats/prometheus",
          },
        }),
      ],
      [
        "whose annotated port is none",
        pod({
          annotations: {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "15020@evil.example",
            "prometheus.io/path": "/stats/prometheus",
          },
        }),
      ],
      [
        "of odd shape",
        pod({ spec: { containers: "istio-proxy" }, status: { containerStatuses: 3, podIPs: {} } }),
      ],
    ])("are left alone in a pod %s", async (_, object) => {
      expect(await targetsOf([object])).toEqual([]);
    });

    it("are read at the address of the family", async () => {
      const status = { podIP: "10.1.0.7", podIPs: [{ ip: "10.1.0.7" }, { ip: "fd00::7" }] };
      const dual = injectedPod({
        status: { ...status, containerStatuses: [{ name: "istio-proxy", state: { running: {} } }] },
      });
      expect(await pagesOf([dual], { addressFamily: "ipv6" })).toEqual([
        "sidecar http://[fd00::7]:15090/stats/prometheus",
      ]);
    });

    it("Linkerd's proxy is read as its own pod's, where its service account is believed", async () => {
      expect(await targetsOf([linkerdPod()], { linkerdAccounts: ["shop/web"] })).toEqual([
        {
          kind: "linkerd",
          role: "sidecar",
          url: "http://10.0.0.5:4191/metrics",
          instance: "shop/web-5d9c6-x7f2k:4191",
          namespace: "shop",
          pod: { namespace: "shop", name: "web-5d9c6-x7f2k" },
        },
      ]);
    });

    it("Linkerd's proxy isn't read under another account", async () => {
      expect(await targetsOf([linkerdPod()], { linkerdAccounts: ["shop/other"] })).toEqual([]);
    });

    it("of a terminating pod are read to the end", async () => {
      const cluster = await discover([injectedPod()]);
      const ref = { ...KINDS.pod, namespace: "shop", name: "cart-0" };
      await store.delete(ref, { gracePeriodSeconds: 30 });
      await vi.waitFor(async () => expect((await store.get(ref))?.metadata.deletionTimestamp).toBeDefined());
      expect(cluster.targets()).toHaveLength(1);
      await store.delete(ref, { gracePeriodSeconds: 0 });
      await vi.waitFor(() => expect(cluster.targets()).toEqual([]));
    });
  });

  it("reads Hubble's page where Cilium's agent has it", async () => {
    expect(await targetsOf([ciliumPod(true)])).toEqual([
      {
        kind: "hubble",
        role: "pod",
        url: "http://192.0.2.1:9965/metrics",
        instance: "kube-system/cilium-xyz:9965",
      },
    ]);
  });

  it("leaves Cilium's agent alone where Hubble's metrics are switched off, or not wanted", async () => {
    expect(await targetsOf([ciliumPod(false)])).toEqual([]);
    await store.delete(
      { ...KINDS.pod, namespace: "kube-system", name: "cilium-xyz" },
      { gracePeriodSeconds: 0 },
    );
    expect(await targetsOf([ciliumPod(true)], { hubbleDaemonSets: [] })).toEqual([]);
  });

  it("reads pages of pods that a setting names by label", async () => {
    const podTargets = [
      podTargetRule("service_graph=monitoring/app.kubernetes.io/name=otel-collector:8889/metrics"),
      podTargetRule("istio=*/app=proxy:9966"),
    ];
    const labels = { "app.kubernetes.io/name": "otel-collector" };
    const pods = [
      pod({ name: "otelcol", namespace: "monitoring", labels }),
      pod({ name: "impostor", labels }),
      pod({ name: "proxy", labels: { app: "proxy" } }),
    ];
    const targets = await targetsOf(pods, { podTargets });
    expect(targets.map(({ kind, url, instance }) => [kind, url, instance])).toEqual([
      ["service_graph", "http://10.1.0.7:8889/metrics", "monitoring/otelcol:8889"],
      ["istio", "http://10.1.0.7:9966/metrics", "shop/proxy:9966"],
    ]);
    expect(targets.map(({ scope }) => scope)).toEqual([
      undefined,
      { of: "pod", namespace: "shop", workloads: ["proxy"], serves: [] },
    ]);
  });

  it("follows pods as they come, move on and go, and keeps none of other nodes", async () => {
    const cluster = await discover([]);
    const waiting = injectedPod({
      status: { phase: "Pending", podIP: undefined, podIPs: [], containerStatuses: [] },
    });
    await store.create({ ...waiting, spec: { ...waiting.spec, nodeName: undefined } });
    await store.create(injectedPod({ name: "other", node: "n2" }));
    await store.bind({ namespace: "shop", name: "cart-0" }, "n1");
    const ref = { ...KINDS.pod, namespace: "shop", name: "cart-0" };
    await store.patch(ref, { status: injectedPod().status }, { subresource: "status" });
    await vi.waitFor(() => expect(cluster.targets()).toHaveLength(1));
    await store.delete(ref, { gracePeriodSeconds: 0 });
    await vi.waitFor(() => expect(cluster.targets()).toEqual([]));
  });
});

describe("podTargetRule", () => {
  it.each([
    "otelcol",
    "other=a/b=c:1",
    "hubble=a/b=c",
    "hubble=a/b=c:0",
    "hubble=a/b=c:70000",
    "hubble=b=c:1",
    "hubble=*/k8s-app=relay:9966",
    "service_graph=*/app=otel-collector:8889",
  ])("refuses %s", (entry) => {
    expect(() => podTargetRule(entry)).toThrow(`got ${JSON.stringify(entry)}`);
  });
});
