import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { measuredLink, WriterTestbed } from "../testing/writers.ts";

const MINUTE = 60_000;
let ground: WriterTestbed;

beforeEach(() => {
  ground = new WriterTestbed();
});
afterEach(() => ground.stop());

describe("workload annotations", () => {
  const deployment = (name: string, labels: Record<string, string> = {}): KubernetesObject => ({
    ...KINDS.deployment,
    metadata: { namespace: "shop", name, labels },
    spec: {},
  });
  const workload = (name: string, namespace = "shop"): WorkflowGraphSnapshot["workloads"][number] => ({
    name,
    namespace,
    kind: "Deployment",
    cpuMillicores: 100,
    memoryBytes: 64 * 1024 ** 2,
    pods: [],
  });
  const channel = (
    source: string,
    target: string,
    bytesPerSecond: number,
  ): WorkflowGraphSnapshot["channels"][number] => ({
    source,
    target,
    bytesPerSecond,
    requestsPerSecond: 1,
    errorRatio: 0,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    origin: "observed",
    ageSeconds: 1,
  });
  const flow = (channels: WorkflowGraphSnapshot["channels"]): WorkflowGraphSnapshot => ({
    version: 1,
    observedAt: "",
    namespace: "shop",
    name: "flow",
    workloads: [workload("a"), workload("b"), workload("c"), workload("pay/api", "pay")],
    channels,
  });

  test("are off unless asked for", async () => {
    await ground.store.create(deployment("a"));
    ground.workflows = [flow([channel("a", "b", 1000)])];
    await ground.start();
    await ground.pass(10_000);
    expect(ground.sent).toEqual([]);
  });

  test("say use and traffic of both directions, and peers of other namespaces by theirs", async () => {
    await ground.store.create(deployment("a"));
    await ground.store.create(deployment("b", { "isochrone.dev/annotate": "false" }));
    const both = flow([channel("a", "b", 1000), channel("b", "a", 500), channel("pay/api", "a", 7.5)]);
    ground.workflows = [both, { ...both, namespace: "pay", name: "pay" }];
    await ground.start({ workloads: true });
    await ground.pass(6000);
    expect(await ground.annotations("a", "deployment")).toMatchObject({
      "isochrone.dev/cpu-usage": "100m",
      "isochrone.dev/memory-usage": "65536Ki",
      "isochrone.dev/traffic-b": "1500",
      "isochrone.dev/traffic-pay.api": "8",
      "isochrone.dev/calls": '["b"]',
    });
    expect(await ground.annotations("b", "deployment")).toEqual({});
  });

  test("are written anew when it is somebody else who calls, however little else has changed", async () => {
    await ground.store.create(deployment("a"));
    ground.workflows = [flow([channel("a", "b", 1000)])];
    await ground.start({ workloads: true });
    await ground.pass(6000);
    ground.workflows = [flow([channel("b", "a", 1000)])];
    await ground.pass(6 * MINUTE);
    expect((await ground.annotations("a", "deployment"))["isochrone.dev/calls"]).toBe("[]");
    expect(ground.sent).toHaveLength(2);
  });

  test("are written at most every five minutes, whatever happens", async () => {
    await ground.store.create(deployment("a"));
    await ground.start({ workloads: true });
    for (let second = 0; second < 30 * 60; second += 10) {
      ground.workflows = [flow([channel("a", "b", 1000 * 2 ** (second % 7))])];
      await ground.pass(10_000);
    }
    const times = ground.sent.map(({ atMs }) => atMs);
    expect(times.length).toBeGreaterThan(2);
    for (const [index, atMs] of times.slice(1).entries())
      expect(atMs - times[index]!).toBeGreaterThanOrEqual(5 * MINUTE);
  });

  test("go when they are switched off", async () => {
    await ground.store.create(deployment("a"));
    ground.workflows = [flow([channel("a", "b", 1000)])];
    await ground.start({ workloads: true });
    await ground.pass(6000);
    await ground.stopWriters();
    await ground.start({ workloads: false });
    await ground.pass(6000);
    expect(await ground.annotations("a", "deployment")).toEqual({});
  });
});

describe("KEP-260's ConfigMap", () => {
  const ref = { ...KINDS.configMap, namespace: "default", name: "netperf-metrics" };
  const settings = { netperfConfigMap: "default/netperf-metrics" };
  const key = (from: string, to: string): string =>
    `netperf.p90.latency.milliseconds.origin.${from}.destination.${to}`;

  test("holds whole milliseconds of measured pairs, never 0; other entries stay", async () => {
    await ground.addNodes("a", "b", "c");
    await ground.store.create({
      ...KINDS.configMap,
      metadata: ref,
      data: { mine: "x", [key("a", "gone")]: "9" },
    });
    ground.links = [
      measuredLink("a", "b", 12.3),
      measuredLink("b", "a", 0.2),
      measuredLink("a", "c", 5, { rttMs: { p50: 5, p90: null, p99: null, mean: 5, count: 9 } }),
    ];
    await ground.start(settings);
    await ground.pass(5000);
    expect((await ground.store.get(ref))!["data"]).toEqual({
      mine: "x",
      [key("a", "b")]: "13",
      [key("b", "a")]: "1",
    });
  });

  test("is made when it is missing, and written again for what matters or for the refresh", async () => {
    await ground.addNodes("a", "b");
    ground.links = [measuredLink("a", "b", 10)];
    await ground.start(settings);
    await ground.pass(5000);
    const version = async (): Promise<string | undefined> =>
      (await ground.store.get(ref))?.metadata.resourceVersion;
    const first = await version();
    expect(first).toBeDefined();
    ground.links = [measuredLink("a", "b", 10.5)];
    await ground.pass(3 * MINUTE);
    expect(await version()).toBe(first);
    ground.links = [measuredLink("a", "b", 30)];
    await ground.pass(90_000);
    expect((await ground.store.get(ref))!["data"]).toEqual({ [key("a", "b")]: "30" });
    const second = await version();
    await ground.pass(10 * MINUTE);
    expect(await version()).not.toBe(second);
  });

  test("is left untouched, and that is said, when it would reach 1 MiB", async () => {
    const names = Array.from(
      { length: 100 },
      (_, index) => `node-${index}-with-a-name-of-some-forty-letters-xy`,
    );
    await ground.addNodes(...names);
    ground.links = names.flatMap((from) =>
      names.filter((to) => to !== from).map((to) => measuredLink(from, to, 10)),
    );
    await ground.start({ ...settings, nodes: false });
    await ground.pass(3 * MINUTE);
    expect(await ground.store.get(ref)).toBeNull();
    expect(await ground.metric("isochrone_aggregator_netperf_config_map_too_large", {})).toBe(1);
    expect(ground.events.map(({ name, event }) => [name, event.reason])).toEqual([
      ["netperf-metrics", "TooLarge"],
    ]);
  });

  test("is the leader's alone", async () => {
    await ground.addNodes("a", "b");
    ground.links = [measuredLink("a", "b", 10)];
    await ground.start(settings, { owns: () => true, isLeader: () => false, replicas: () => 2 });
    await ground.pass(2 * MINUTE);
    expect(await ground.store.get(ref)).toBeNull();
  });
});
