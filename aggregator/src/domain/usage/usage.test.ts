import { NODE_METRICS, type Attributes, type Metric } from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const CPU = "container_cpu_usage_seconds_total";
const MEMORY = "container_memory_working_set_bytes";

let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  tables = new Tables(SHAPE, { maxLinks: 10, maxChannels: 10, maxPods: 3 });
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 });
});

function take(metrics: readonly Metric[], atMs: number): void {
  ingest.take(recordOf("a", metrics, { arrivedAtMs: atMs }), atMs);
}

const row = (container: string, more: Attributes = {}): Attributes => ({
  namespace: "shop",
  pod: "web-1",
  container,
  id: "/kubepods/x",
  ...more,
});

function cores(pod: string, nowMs: number): number | null {
  return tables.pods.get(pod)?.cpu(nowMs, "full") ?? null;
}

describe("pods", () => {
  test("the usage of a pod is the sum of its containers, without the pause container and the pod's own row", () => {
    for (let i = 0; i <= 3; i++) {
      const at = NOW + i * 2000;
      take(
        [
          counter(CPU, row("web", { name: "k8s_web" }), at, i * 1),
          counter(CPU, row("proxy", { name: "k8s_proxy" }), at, i * 0.5),
          counter(CPU, row("POD", { name: "k8s_POD" }), at, i * 9),
          counter(CPU, row("", { name: "pause" }), at, i * 9),
          counter(CPU, row(""), at, i * 1.6),
        ],
        at,
      );
    }
    expect(cores("shop/web-1", NOW + 6000)).toBeCloseTo(0.75, 6);
  });

  test("without rows of containers the pod's cgroup counts", () => {
    for (let i = 0; i <= 3; i++) take([counter(CPU, row(""), NOW + i * 2000, i * 1.6)], NOW + i * 2000);
    expect(cores("shop/web-1", NOW + 6000)).toBeCloseTo(0.8, 6);
  });

  test("kubelet's ready-made figures are taken too, as the mean over the window", () => {
    for (const [i, value] of [0.2, 0.4, 0.6].entries()) {
      const at = NOW + i * 2000;
      take([gauge("k8s.pod.cpu.usage", { namespace: "shop", pod: "web-1" }, at, value)], at);
    }
    expect(cores("shop/web-1", NOW + 4000)).toBeCloseTo(0.4, 6);
  });

  test("the memory of a container that was restarted doesn't add to its predecessor's", () => {
    take(
      [
        gauge(MEMORY, row("web", { name: "first" }), NOW, 100),
        gauge(MEMORY, row("proxy", { name: "p" }), NOW, 10),
      ],
      NOW,
    );
    take([gauge(MEMORY, row("web", { name: "second" }), NOW + 2000, 70)], NOW + 2000);
    expect(tables.pods.get("shop/web-1")!.memory(NOW + 2000, "full")).toBe(80);
  });

  test("memory that wasn't reported within the window isn't known", () => {
    take([gauge(MEMORY, row("web"), NOW, 100)], NOW);
    expect(tables.pods.get("shop/web-1")!.memory(NOW + 31_000, "full")).toBeNull();
  });

  test("a restart of a container's counter isn't taken for negative or enormous use", () => {
    const values = [10, 11, 12, 0.5, 1.5];
    for (const [i, value] of values.entries())
      take([counter(CPU, row("web"), NOW + i * 2000, value)], NOW + i * 2000);
    expect(cores("shop/web-1", NOW + 8000)).toBeCloseTo((1 + 1 + 0.5 + 1) / 8, 6);
  });

  test("pods beyond the bound are counted and left out", () => {
    take(
      ["1", "2", "3", "4", "5"].map((name) => gauge(MEMORY, row("web", { pod: name }), NOW, 1)),
      NOW,
    );
    expect(tables.pods.size).toBe(3);
    expect(ingest.counts.unused.too_many_pods).toBe(2);
  });

  test("rows without a pod, of system slices, are nobody's use", () => {
    take([counter(CPU, { id: "/system.slice" }, NOW, 5)], NOW);
    expect([tables.pods.size, tables.nodes.size]).toEqual([0, 0]);
  });
});

describe("nodes", () => {
  const cluster = clusterState({
    nodes: [nodeState("a", { allocatableCpuMillicores: 4000, allocatableMemoryBytes: 1000 })],
  });
  const graph = (nowMs: number) =>
    buildClusterGraph(
      tables,
      cluster,
      { methods: ["udp_rr"], quantile: "p50" },
      { version: 1, nowMs },
      "full",
    ).nodes[0]!;

  test("available is allocatable less what the root cgroup uses", () => {
    for (let i = 0; i <= 3; i++) {
      const at = NOW + i * 2000;
      take([counter(CPU, { id: "/" }, at, i * 3), gauge(MEMORY, { id: "/" }, at, 400)], at);
    }
    expect(graph(NOW + 7000)).toMatchObject({
      availableCpuMillicores: 2500,
      availableMemoryBytes: 600,
      usageAgeSeconds: 1,
    });
  });

  test("what isn't known, or isn't known any more, is null and not the whole node", () => {
    expect(graph(NOW)).toMatchObject({
      availableCpuMillicores: null,
      availableMemoryBytes: null,
      usageAgeSeconds: null,
    });
    take([counter(CPU, { id: "/" }, NOW, 0), gauge(MEMORY, { id: "/" }, NOW, 400)], NOW);
    take([counter(CPU, { id: "/" }, NOW + 2000, 1)], NOW + 2000);
    expect(graph(NOW + 40_000)).toMatchObject({
      availableCpuMillicores: null,
      availableMemoryBytes: null,
      usageAgeSeconds: 38,
    });
  });

  test("a node that uses more than it may allocate has nothing left, not less than nothing", () => {
    for (let i = 0; i <= 1; i++) take([counter(CPU, { id: "/" }, NOW + i * 2000, i * 20)], NOW + i * 2000);
    expect(graph(NOW + 2000).availableCpuMillicores).toBe(0);
  });
});

describe("a node's network interfaces", () => {
  const RECEIVED = "container_network_receive_bytes_total";
  const SENT = "container_network_transmit_bytes_total";
  const cluster = clusterState({ nodes: [nodeState("a")] });
  const graph = (nowMs: number) =>
    buildClusterGraph(
      tables,
      cluster,
      { methods: ["udp_rr"], quantile: "p50" },
      { version: 1, nowMs },
      "full",
    ).nodes[0]!;
  const of = (name: string, more: Attributes = {}): Attributes => ({ id: "/", interface: name, ...more });

  test("add up to what the node receives and sends, bits per second", () => {
    for (let i = 0; i <= 3; i++) {
      const at = NOW + i * 2000;
      take(
        [
          counter(RECEIVED, of("eth0"), at, 5e9 + i * 2000),
          counter(RECEIVED, of("ens5"), at, 7e9 + i * 1000),
          counter(SENT, of("eth0"), at, i * 500),
        ],
        at,
      );
    }
    expect(graph(NOW + 6000)).toMatchObject({
      networkReceiveBitsPerSecond: 12_000,
      networkTransmitBitsPerSecond: 2000,
    });
  });

  const rateOf = (...names: readonly string[]): number | null | undefined => {
    for (let i = 0; i <= 2; i++) {
      const at = NOW + i * 2000;
      take(
        names.map((name) => counter(RECEIVED, of(name), at, 5e6 + i * 2000)),
        at,
      );
    }
    return graph(NOW + 4000).networkReceiveBitsPerSecond;
  };

  test.each([
    ["overlays beside a card", ["ens5", "ovn-k8s-mp0", "tailscale0", "vx-submariner", "br-ex"], 8000],
    ["overlays that nobody has heard of, beside a card", ["mystery0", "overlay7", "eno1"], 8000],
    ["a card and its lower half", ["eth0", "enP28173s1"], 8000],
    ["a card with a name of its own", ["lan0", "docker0", "veth1"], 8000],
    ["several of which any may carry the others", ["lan0", "mystery0"], null],
  ])("by names alone: %s", (_, names, expected) => {
    expect(rateOf(...names)).toBe(expected);
  });

  test("count as the node's own kernel tells, whatever pages say", () => {
    const told = (i: number, direction: string): Metric => {
      const at = NOW + i * 2000;
      const attributes = { interface: "lan0", direction };
      const points = [{ attributes, startMs: at, timeMs: at, value: 7e9 + i * 6000, integer: true }];
      return {
        name: NODE_METRICS.network,
        unit: "By",
        kind: "sum",
        temporality: "cumulative",
        monotonic: true,
        points,
      };
    };
    for (let i = 0; i <= 2; i++) {
      const at = NOW + i * 2000;
      take(
        [
          ...["eth0", "lan0", "mystery0"].map((name) => counter(RECEIVED, of(name), at, i * 1000)),
          told(i, "receive"),
          told(i, "transmit"),
        ],
        at,
      );
    }
    expect(graph(NOW + 4000)).toMatchObject({
      networkReceiveBitsPerSecond: 24_000,
      networkTransmitBitsPerSecond: 24_000,
    });
  });

  test("are those that lead to other nodes, each byte once: no loopback, no pod's cable, bridge, tunnel, bond or VLAN", () => {
    const others = [
      "lo",
      "veth12ab34cd",
      "cali0f",
      "eni1a2b3c4d5e6",
      "cni0",
      "docker0",
      "br-0a1b2c",
      "flannel.1",
    ];
    const repeated = [
      "tunl0",
      "vxlan.calico",
      "genev_sys_6081",
      "cilium_host",
      "bond0",
      "eth0.100",
      "kube-ipvs0",
    ];
    for (let i = 0; i <= 1; i++) {
      const at = NOW + i * 2000;
      take(
        ["eth0", ...others, ...repeated].map((name) => counter(RECEIVED, of(name), at, i * 1000)),
        at,
      );
    }
    expect(graph(NOW + 2000).networkReceiveBitsPerSecond).toBe(4000);
  });

  test("that begin anew don't give negative or enormous rates", () => {
    for (const [i, value] of [9e12, 9e12 + 2000, 1000, 3000].entries())
      take([counter(RECEIVED, of("eth0"), NOW + i * 2000, value)], NOW + i * 2000);
    expect(graph(NOW + 6000).networkReceiveBitsPerSecond).toBeCloseTo((5000 * 8) / 6, 6);
  });

  test("that appear with a high count, or whose page claims a late start, have a baseline and no burst", () => {
    take([counter(RECEIVED, of("eth0"), NOW, 9e12, NOW - 2000)], NOW);
    take([counter(RECEIVED, of("eth0"), NOW + 2000, 9e12 + 500, NOW + 1000)], NOW + 2000);
    take([counter(RECEIVED, of("eth0"), NOW + 4000, 9e12 + 1000, NOW + 1000)], NOW + 4000);
    expect(graph(NOW + 4000).networkReceiveBitsPerSecond).toBe(2000);
  });

  test("are read from kubelet's own figures where cAdvisor gives none", () => {
    const name = "k8s.node.network.io";
    for (let i = 0; i <= 1; i++) {
      const at = NOW + i * 2000;
      take(
        [
          counter(name, { interface: "eth0", direction: "receive" }, at, i * 1000),
          counter(name, { interface: "eth0", direction: "transmit" }, at, i * 500),
        ],
        at,
      );
    }
    const node = { networkReceiveBitsPerSecond: 4000, networkTransmitBitsPerSecond: 2000 };
    expect(graph(NOW + 2000)).toMatchObject(node);
    for (let i = 1; i <= 2; i++)
      take([counter(RECEIVED, of("eth0"), NOW + i * 2000, i * 250)], NOW + i * 2000);
    expect(graph(NOW + 4000)).toMatchObject({ ...node, networkReceiveBitsPerSecond: 1000 });
  });

  test("tell nothing of pods, nothing before two samples, and nothing any more after a silent window", () => {
    take(
      [counter(RECEIVED, of("eth0", { id: "/kubepods/x", pod: "web-1", namespace: "shop" }), NOW, 1)],
      NOW,
    );
    take(
      [counter(RECEIVED, of("eth0", { id: "/kubepods/x", pod: "web-1", namespace: "shop" }), NOW + 2000, 9)],
      NOW + 2000,
    );
    expect([tables.pods.size, tables.nodes.size]).toEqual([0, 0]);
    take([counter(RECEIVED, of("eth0"), NOW + 2000, 1000)], NOW + 2000);
    expect(graph(NOW + 2000).networkReceiveBitsPerSecond).toBeNull();
    take([counter(RECEIVED, of("eth0"), NOW + 4000, 2000)], NOW + 4000);
    expect(graph(NOW + 4000).networkReceiveBitsPerSecond).toBe(4000);
    expect(graph(NOW + 40_000).networkReceiveBitsPerSecond).toBeNull();
  });
});
