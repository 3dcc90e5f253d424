import { keyOf, podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { trimmedReplica } from "./replica-detail.ts";

function pod(more: Partial<KubernetesObject["metadata"]> = {}, spec = {}, status = {}): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-5d4f8c-x7k2p",
      namespace: "shop",
      uid: "11111111-2222-3333-4444-555555555555",
      resourceVersion: "77",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "web", "pod-template-hash": "5d4f8c", "app.kubernetes.io/part-of": "store" },
      annotations: { "kubernetes.io/egress-bandwidth": "10M", "example.com/notes": "x".repeat(1000) },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f8c", uid: "rs", controller: true },
      ],
      ...more,
    },
    spec: { nodeName: "n1", containers: [{ name: "web", image: "web:1", env: [] }], ...spec },
    status: {
      phase: "Running",
      podIP: "10.0.0.9",
      conditions: [{ type: "Ready", status: "True" }],
      ...status,
    },
  };
}

describe("a pod as it is kept", () => {
  test("tells all that the graphs read of it", () => {
    const whole = pod();
    const kept = trimmedReplica(whole);
    const { labels, annotations, ip, ready, owner, ...read } = podView(kept);
    expect(read).toEqual({
      namespace: "shop",
      name: "web-5d4f8c-x7k2p",
      uid: whole.metadata.uid,
      node: "n1",
      phase: "Running",
      terminating: false,
      finished: false,
      requestsCpuMillicores: 0,
      requestsMemoryBytes: 0,
      ingressLimitBitsPerSecond: null,
      egressLimitBitsPerSecond: 10e6,
    });
    expect(labels).toEqual({ "pod-template-hash": "5d4f8c", "app.kubernetes.io/part-of": "store" });
    expect(workloadOf(kept)).toEqual(workloadOf(whole));
    expect([keyOf(kept), kept.metadata.resourceVersion]).toEqual([keyOf(whole), "77"]);
    expect([ip, ready, owner?.name, Object.keys(annotations)]).toEqual([
      "10.0.0.9",
      true,
      "web-5d4f8c",
      ["kubernetes.io/egress-bandwidth"],
    ]);
  });

  test("is small", () => {
    const { status, ...kept } = trimmedReplica(pod());
    // All pods share one object of Ready conditions.
    const { conditions: _shared, ...own } = status ?? {};
    expect(JSON.stringify({ ...kept, status: own }).length).toBeLessThan(500);
  });

  test("has no address on its node's network, and both of a dual stack", () => {
    for (const status of ["True", "False"])
      expect(podView(trimmedReplica(pod({}, {}, { conditions: [{ type: "Ready", status }] }))).ready).toBe(
        status === "True",
      );
    expect(podView(trimmedReplica(pod({}, { hostNetwork: true }))).ip).toBeNull();
    const both = [{ ip: "10.0.0.9" }, { ip: "fd00::9" }];
    expect(trimmedReplica(pod({}, {}, { podIPs: both })).status).toMatchObject({ podIPs: both });
    expect(trimmedReplica(pod({}, {}, { podIPs: both.slice(0, 1) })).status).not.toHaveProperty("podIPs");
  });

  test("keeps the address of a probe", () => {
    const kept = trimmedReplica(pod({ labels: { "app.kubernetes.io/name": "isochrone-probe" } }));
    expect([podView(kept).ip, podView(kept).labels]).toEqual([
      "10.0.0.9",
      { "app.kubernetes.io/name": "isochrone-probe" },
    ]);
  });

  test("is kept with its creation and its conditions while it waits behind a gate", () => {
    const gated = pod({}, { schedulingGates: [{ name: "isochrone.dev/placement" }], nodeName: undefined });
    const kept = trimmedReplica(gated);
    expect(kept.spec?.["schedulingGates"]).toEqual([{ name: "isochrone.dev/placement" }]);
    expect([kept.metadata.creationTimestamp, podView(kept).ready]).toEqual(["2026-01-01T00:00:00Z", true]);
  });

  test("may lack everything that a pod may lack", () => {
    const bare: KubernetesObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "bare" } };
    expect(trimmedReplica(bare)).toEqual({ ...bare, spec: {}, status: {} });
    expect(
      trimmedReplica(pod({ deletionTimestamp: "2026-01-01T00:00:00Z" })).metadata.deletionTimestamp,
    ).toBe("2026-01-01T00:00:00Z");
  });
});
