import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom } from "@isochrone/runtime";
import { configWith, ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, vi } from "vitest";
import { nodeTargets } from "./node-mode.ts";
import { collectorSettings, type CollectorConfig } from "./settings.ts";
import { injectedPod, node, ztunnelPod } from "./testing/pods.ts";

const clock = new ManualClock();
const surroundings = { clock, random: seededRandom(1), logger: new MemoryLogger() };
const configOf = (collector: Partial<CollectorConfig>): CollectorConfig =>
  configWith(collectorSettings, { node: "n1", ...collector });

async function urlsOf(settings: Partial<CollectorConfig>, store: ClusterStore | null): Promise<string[]> {
  const { targets, parts } = nodeTargets(configOf(settings), { ...surroundings, store });
  for (const { service } of parts) await service?.start?.();
  await new Promise((resolve) => setImmediate(resolve));
  const urls = targets
    .targets()
    .map(({ url }) => url)
    .toSorted();
  for (const { service } of parts) await service?.stop?.();
  return urls;
}

describe("nodeTargets", () => {
  it("knows the kubelet by the node's address, and static pages, without access to the API server", async () => {
    const settings: Partial<CollectorConfig> = {
      nodeAddress: "192.0.2.1",
      kubeletPages: ["cadvisor"],
      staticTargets: ["istio=http://a/"],
    };
    expect(await urlsOf(settings, null)).toEqual(["http://a/", "https://192.0.2.1:10250/metrics/cadvisor"]);
  });

  it("finds kubelet and pods through the store otherwise", async () => {
    const store = createMemoryStore({ clock });
    for (const object of [node("n1", ["192.0.2.1"]), injectedPod(), ztunnelPod()]) await store.create(object);
    expect(await urlsOf({}, store)).toEqual([
      "http://10.1.0.7:15020/stats/prometheus",
      "http://10.1.0.7:15090/stats/prometheus",
      "https://192.0.2.1:10250/metrics/cadvisor",
      "https://192.0.2.1:10250/metrics/resource",
    ]);
    expect(await urlsOf({ discover: [], kubeletPages: ["resource"] }, store)).toEqual([
      "https://192.0.2.1:10250/metrics/resource",
    ]);
  });

  it("asks for no Node object when it is told the address", async () => {
    const store = createMemoryStore({ clock });
    await store.create(node("n1", ["192.0.2.1"]));
    const list = vi.spyOn(store, "list");
    expect(await urlsOf({ nodeAddress: "192.0.2.9", kubeletPages: ["cadvisor"] }, store)).toEqual([
      "https://192.0.2.9:10250/metrics/cadvisor",
    ]);
    expect(list.mock.calls.map(([kind]) => kind.kind)).toEqual(["Pod"]);
  });

  it("starts without an API server, and knows what is known without it", async () => {
    const store = createMemoryStore({ clock });
    vi.spyOn(store, "list").mockRejectedValue(new Error("connection refused"));
    expect(await urlsOf({ nodeAddress: "192.0.2.1", kubeletPages: ["resource"] }, store)).toEqual([
      "https://192.0.2.1:10250/metrics/resource",
    ]);
  });

  it.each<[string, Partial<CollectorConfig>]>([
    ["staticTargets", { staticTargets: ["a"] }],
    ["podTargets", { podTargets: ["a"] }],
  ])("names a mistake in %s", (setting, settings) => {
    expect(() => nodeTargets(configOf(settings), { ...surroundings, store: null })).toThrow(
      `collector.${setting}`,
    );
  });
});

describe("collectorSettings", () => {
  it.each<[string, Partial<CollectorConfig>]>([
    ["node must be given", { node: "" }],
    ["must be an address or a host name", { nodeAddress: "https://n1" }],
    ["must hold only istio, linkerd and hubble", { discover: ["retina"] }],
    ["must have a URL with a host and a port of 1 to 65535", { staticTargets: ["istio=http://a:99999/"] }],
    ["must have a URL without user and password", { staticTargets: ["istio=http://me:x@a/"] }],
  ])("refuses a pair or a word that doesn't fit: %s", (rule, settings) => {
    expect(() => configOf(settings)).toThrow(rule);
  });
});
