import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { beforeEach, describe, expect, test } from "vitest";
import { podObject } from "../testing/cluster.ts";
import { PodProbeAddresses } from "./pod-probe-addresses.ts";

const PORTS = { udpPort: 1, tcpPort: 2, bandwidthPort: null };
const LABELS = { "app.kubernetes.io/name": "isochrone-probe" };

let addresses: PodProbeAddresses;

beforeEach(() => {
  addresses = new PodProbeAddresses(PORTS, "isochrone");
});

const probe = (name: string, node: string, ip?: string): KubernetesObject =>
  podObject("isochrone", name, node, { labels: LABELS, ...(ip === undefined ? {} : { ip }) });
const tell = (type: InformerChange["type"], object: KubernetesObject): void =>
  addresses.take({ type, object });

describe("PodProbeAddresses", () => {
  test("a probe is known from when it has an address until it ends", () => {
    tell("added", probe("p1", "a"));
    expect(addresses.self("a")).toBeNull();
    tell("modified", probe("p1", "a", "10.0.0.1"));
    expect(addresses.self("a")).toBe("10.0.0.1");
    expect(addresses.peer("b", "a")).toEqual({ address: "10.0.0.1", identity: "10.0.0.1", ...PORTS });
    tell("modified", { ...probe("p1", "a", "10.0.0.1"), status: { phase: "Failed", podIP: "10.0.0.1" } });
    expect(addresses.self("a")).toBeNull();
    expect(addresses.peer("b", "a")).toBeNull();
  });

  test("other pods are none of its business", () => {
    tell("added", podObject("shop", "web", "a", { ip: "10.0.0.9" }));
    expect(addresses.self("a")).toBeNull();
    // Anyone with the right to create pods can set these labels.
    tell("added", podObject("shop", "impostor", "a", { labels: LABELS, ip: "10.0.0.9" }));
    expect(addresses.self("a")).toBeNull();
  });

  test("while a probe is replaced the newer pod counts, and the end of the older one changes nothing", () => {
    tell("added", probe("old", "a", "10.0.0.1"));
    tell("added", probe("new", "a", "10.0.0.2"));
    expect(addresses.self("a")).toBe("10.0.0.2");
    tell("deleted", probe("old", "a", "10.0.0.1"));
    expect(addresses.self("a")).toBe("10.0.0.2");
    tell("deleted", probe("new", "a", "10.0.0.2"));
    expect(addresses.self("a")).toBeNull();
  });

  test("one that is being deleted isn't there any more", () => {
    const pod = probe("p1", "a", "10.0.0.1");
    tell("added", pod);
    tell("modified", { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
    expect(addresses.self("a")).toBeNull();
  });

  test("an address that changed is taken up", () => {
    tell("added", probe("p1", "a", "10.0.0.1"));
    tell("modified", probe("p1", "a", "10.0.0.7"));
    expect(addresses.self("a")).toBe("10.0.0.7");
  });
});
