import { describe, expect, test } from "vitest";
import { bandwidthAnnotations, bandwidthLimits } from "./bandwidth.ts";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject } from "./port.ts";

const dependency = (selector: string, minBandwidth?: string) => ({
  workload: { kind: "Deployment", name: selector, selector },
  ...(minBandwidth === undefined ? {} : { minBandwidth }),
});

const A1: KubernetesObject = {
  ...KINDS.appGroup,
  metadata: { namespace: "default", name: "a1" },
  spec: {
    numMembers: 3,
    topologySortingAlgorithm: "KahnSort",
    workloads: [
      { ...dependency("P1"), dependencies: [dependency("P2", "100Mi"), dependency("P3")] },
      { ...dependency("P2"), dependencies: [dependency("P3", "250Mi")] },
      dependency("P3"),
    ],
  },
};

describe("bandwidth limits of a pod", () => {
  test("are read as the CNI's plugin reads them, in bits per second", () => {
    const annotations = { "kubernetes.io/ingress-bandwidth": "10M", "kubernetes.io/egress-bandwidth": "1Gi" };
    expect(bandwidthLimits(annotations)).toEqual({
      ingressLimitBitsPerSecond: 10e6,
      egressLimitBitsPerSecond: 2 ** 30,
    });
  });

  test.each(["", "fast", "-1M", "999", "2P"])("%j is none", (text) => {
    expect(bandwidthLimits({ "kubernetes.io/egress-bandwidth": text }).egressLimitBitsPerSecond).toBe(null);
  });
});

describe("annotations of an AppGroup's pods", () => {
  test("let a pod send what its dependencies need, and receive what its callers need", () => {
    expect(bandwidthAnnotations(A1, "P2")).toEqual({
      "kubernetes.io/ingress-bandwidth": "104857600",
      "kubernetes.io/egress-bandwidth": "262144000",
    });
  });

  test("leave a direction that needs nothing unlimited", () => {
    expect(bandwidthAnnotations(A1, "P1")).toEqual({ "kubernetes.io/egress-bandwidth": "104857600" });
    expect(bandwidthAnnotations(A1, "other")).toEqual({});
  });

  test("count each pod at the other end", () => {
    const replicas = (selector: string): number => (selector === "P3" ? 3 : 0);
    expect(bandwidthAnnotations(A1, "P2", replicas)).toEqual({
      "kubernetes.io/ingress-bandwidth": "104857600",
      "kubernetes.io/egress-bandwidth": "786432000",
    });
  });

  test("stay within what the plugin takes", () => {
    const tiny = {
      ...A1,
      spec: { workloads: [{ ...dependency("P1"), dependencies: [dependency("P2", "5")] }] },
    };
    expect(bandwidthAnnotations(tiny, "P1")).toEqual({ "kubernetes.io/egress-bandwidth": "1000" });
  });

  test("are none of an object that can't be read", () => {
    const odd = {
      ...A1,
      spec: { workloads: [null, { workload: 5, dependencies: [{ minBandwidth: "1M" }] }] },
    };
    expect(bandwidthAnnotations(odd, "P1")).toEqual({});
  });
});
