// Several sources report a pod's or node's usage; only one counts at a time.
import type { Attributes, Metric } from "@isochrone/telemetry";
import { describe, expect, test } from "vitest";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { Ingest } from "../ingest/ingest.ts";
import { CPU_COUNTERS, type UsageSource } from "../ingest/sink-tables.ts";
import { Tables } from "../graphs/tables.ts";
import type { UsageState } from "./usage.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 10, maxChannels: 10, maxPods: 10 };
const OPTIONS = { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 };
const NOW = 1_700_000_000_000;
const STEP_MS = 2000;
const CPU = "container_cpu_usage_seconds_total";
const MEMORY = "container_memory_working_set_bytes";
const POD = "shop/web-1";
const POD_LABELS = { namespace: "shop", pod: "web-1" };
const CONTAINER_LABELS = { ...POD_LABELS, container: "web" };

interface Way {
  readonly tables: Tables;
  take(node: string, resource: Attributes, metrics: readonly Metric[], atMs: number): void;
}

function openWay(): Way {
  const tables = new Tables(SHAPE, LIMITS);
  const ingest = new Ingest(tables, OPTIONS);
  return {
    tables,
    take: (node, resource, metrics, atMs) =>
      void ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs, resource }), atMs),
  };
}

interface Teller {
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
  readonly labels: Attributes;
  readonly resource: Attributes;
}

const service = (name: string): Attributes => ({ "service.name": name });

const POD_TELLERS: readonly Teller[] = [
  {
    name: "cAdvisor's containers",
    cpu: CPU,
    memory: MEMORY,
    labels: CONTAINER_LABELS,
    resource: service("isochrone-cadvisor"),
  },
  {
    name: "cAdvisor's cgroup",
    cpu: CPU,
    memory: MEMORY,
    labels: POD_LABELS,
    resource: service("isochrone-cadvisor"),
  },
  {
    name: "the resource page",
    cpu: CPU,
    memory: MEMORY,
    labels: CONTAINER_LABELS,
    resource: service("isochrone-resource"),
  },
  {
    name: "kubeletstats' containers",
    cpu: "container.cpu.time",
    memory: "container.memory.working_set",
    labels: CONTAINER_LABELS,
    resource: {},
  },
  {
    name: "kubeletstats' pod",
    cpu: "k8s.pod.cpu.time",
    memory: "k8s.pod.memory.working_set",
    labels: POD_LABELS,
    resource: {},
  },
];

const NODE_TELLERS: readonly Teller[] = [
  {
    name: "cAdvisor's root cgroup",
    cpu: CPU,
    memory: MEMORY,
    labels: { id: "/" },
    resource: service("isochrone-cadvisor"),
  },
  {
    name: "the resource page",
    cpu: "node_cpu_usage_seconds_total",
    memory: "node_memory_working_set_bytes",
    labels: {},
    resource: service("isochrone-resource"),
  },
  {
    name: "kubeletstats' node",
    cpu: "k8s.node.cpu.time",
    memory: "k8s.node.memory.working_set",
    labels: {},
    resource: {},
  },
];

interface Case {
  readonly of: string;
  readonly better: Teller;
  readonly worse: Teller;
  readonly stateOf: (tables: Tables) => UsageState | undefined;
}

function pairs(of: string, tellers: readonly Teller[], stateOf: Case["stateOf"]): Case[] {
  return tellers.flatMap((better, i) =>
    tellers.slice(i + 1).map((worse) => ({ of, better, worse, stateOf })),
  );
}

const CASES = [
  ...pairs("a pod", POD_TELLERS, (tables) => tables.pods.get(POD)),
  ...pairs("a node", NODE_TELLERS, (tables) => tables.nodes.get("n")),
].map((each) => [`of ${each.of}, ${each.better.name} before ${each.worse.name}`, each] as const);

function tell(way: Way, { cpu, memory, labels, resource }: Teller, step: number, cores: number): void {
  const atMs = NOW + step * STEP_MS;
  const metrics = [
    counter(cpu, labels, atMs, step * cores * (STEP_MS / 1000)),
    gauge(memory, labels, atMs, cores * 1000),
  ];
  way.take("n", resource, metrics, atMs);
}

function seen({ stateOf }: Case, { tables }: Way, step: number): (number | null)[] {
  const nowMs = NOW + step * STEP_MS;
  const state = stateOf(tables);
  const cores = state?.cpu(nowMs, "full") ?? null;
  return [cores === null ? null : Math.round(cores * 1e6) / 1e6, state?.memory(nowMs, "full") ?? null];
}

const STEPS_PER_WINDOW = SHAPE.windowMs / STEP_MS;

describe("usage that several tell", () => {
  test.each(CASES)("%s: one counts, never both", (_name, each) => {
    const way = openWay();
    for (let step = 0; step <= 5; step++) {
      tell(way, each.worse, step, 0.25);
      tell(way, each.better, step, 0.5);
    }
    expect(seen(each, way, 5)).toEqual([0.5, 500]);
  });

  test.each(CASES)("%s: what is silent for a window gives way, and comes back", (_name, each) => {
    const way = openWay();
    for (let step = 0; step <= 5; step++) {
      tell(way, each.worse, step, 0.25);
      tell(way, each.better, step, 0.5);
    }
    const silent = 5 + STEPS_PER_WINDOW;
    for (let step = 6; step < silent - 1; step++) tell(way, each.worse, step, 0.25);
    expect(seen(each, way, silent - 2)).toEqual([0.5, 500]);
    for (let step = silent - 1; step <= silent; step++) tell(way, each.worse, step, 0.25);
    expect(seen(each, way, silent)).toEqual([0.25, 250]);
    for (let step = silent + 1; step <= silent + 2; step++) {
      tell(way, each.worse, step, 0.25);
      tell(way, each.better, step, 0.5);
    }
    expect(seen(each, way, silent + 2)).toEqual([0.5, 500]);
  });

  test("each quantity has its own best source", () => {
    const way = openWay();
    const [cadvisor, , page] = POD_TELLERS;
    for (let step = 0; step <= 2; step++) {
      const atMs = NOW + step * STEP_MS;
      way.take("n", cadvisor!.resource, [gauge(MEMORY, CONTAINER_LABELS, atMs, 700)], atMs);
      tell(way, page!, step, 0.25);
    }
    expect(seen(CASES[0]![1], way, 2)).toEqual([0.25, 700]);
  });

  test("kubelet's ready-made figure of cores is the last to be asked", () => {
    const way = openWay();
    for (let step = 0; step <= 2; step++) {
      tell(way, POD_TELLERS.at(-1)!, step, 0.25);
      const atMs = NOW + step * STEP_MS;
      way.take("n", {}, [gauge("k8s.pod.cpu.usage", POD_LABELS, atMs, 0.9)], atMs);
    }
    expect(seen(CASES[0]![1], way, 2)[0]).toBe(0.25);
  });

  /** CPU gauges per step; the key `pod` is the pod, other keys are containers. */
  function tellReady(way: Way, step: number, cores: Readonly<Record<string, number>>): void {
    const atMs = NOW + step * STEP_MS;
    const metrics = Object.entries(cores).map(([container, value]) =>
      container === "pod"
        ? gauge("k8s.pod.cpu.usage", POD_LABELS, atMs, value)
        : gauge("container.cpu.usage", { ...POD_LABELS, container }, atMs, value),
    );
    way.take("n", {}, metrics, atMs);
  }

  test("ready-made figures of containers alone are added up, one that ended by the time it ran", () => {
    const way = openWay();
    for (let step = 0; step <= 7; step++)
      tellReady(way, step, step < 4 ? { web: 0.5, init: 1 } : { web: 0.5 });
    expect(seen(CASES[0]![1], way, 7)[0]).toBe(1);
  });

  test("ready-made figures of containers give way to every other one, and take its place when it is silent", () => {
    const way = openWay();
    for (let step = 0; step <= 5; step++) {
      tell(way, POD_TELLERS.at(-1)!, step, 0.25);
      tellReady(way, step, { web: 0.9 });
    }
    expect(seen(CASES[0]![1], way, 5)[0]).toBe(0.25);
    for (let step = 6; step <= 9; step++) tellReady(way, step, { pod: 0.3, web: 0.9 });
    const silent = 9 + 2 * STEPS_PER_WINDOW;
    for (let step = 10; step <= silent; step++) tellReady(way, step, { web: 0.4, proxy: 0.1 });
    expect(seen(CASES[0]![1], way, silent)[0]).toBe(0.5);
    for (let step = silent + 1; step <= silent + 3; step++) tellReady(way, step, { pod: 0.3, web: 0.9 });
    expect(seen(CASES[0]![1], way, silent + 3)[0]).toBe(0.3);
  });

  test("rows of a standalone cAdvisor are those of the pods that its labels name", () => {
    const way = openWay();
    const labels = {
      id: "/kubepods/pod1/c",
      name: "k8s_web",
      namespace: "monitoring",
      pod: "cadvisor-x",
      container: "cadvisor",
      container_label_io_kubernetes_pod_namespace: "shop",
      container_label_io_kubernetes_pod_name: "web-1",
    };
    const resource = service("somebody's job");
    for (let step = 0; step <= 2; step++)
      for (const container of ["web", "proxy"]) {
        const named = { ...labels, container_label_io_kubernetes_container_name: container };
        tell(way, { name: "", cpu: CPU, memory: MEMORY, labels: named, resource }, step, 0.5);
      }
    expect(seen(CASES[0]![1], way, 2)).toEqual([1, 1000]);
    expect(way.tables.pods.get("monitoring/cadvisor-x")).toBeUndefined();
  });

  test("containers of one source are added up, whichever it is", () => {
    for (const { cpu, memory, labels, resource } of [POD_TELLERS[0]!, POD_TELLERS[2]!, POD_TELLERS[3]!]) {
      const way = openWay();
      for (let step = 0; step <= 2; step++)
        for (const container of ["web", "proxy"])
          tell(way, { name: "", cpu, memory, labels: { ...labels, container }, resource }, step, 0.5);
      expect(seen(CASES[0]![1], way, 2)).toEqual([1, 1000]);
    }
  });
});

describe("the row of a container", () => {
  test.each<readonly [string, Attributes, Attributes, UsageSource]>([
    ["with an id is cAdvisor's", { id: "/kubepods/x" }, service("kubelet"), "cadvisor"],
    ["with an image is cAdvisor's", { image: "registry.example/web" }, {}, "cadvisor"],
    ["with a name is cAdvisor's", { name: "k8s_web" }, service("isochrone-resource"), "cadvisor"],
    ["without, from our collector's cadvisor page", {}, service("isochrone-cadvisor"), "cadvisor"],
    ["without, from our collector's resource page", {}, service("isochrone-resource"), "resource"],
    ["without, from our collector in Prometheus mode", {}, service("isochrone-prometheus"), "cadvisor"],
    ["without, from somebody's job for cAdvisor", {}, service("kubernetes-cAdvisor"), "cadvisor"],
    [
      "without, with the page as a label",
      { metrics_path: "/metrics/cadvisor" },
      service("kubelet"),
      "cadvisor",
    ],
    ["without, with the job as a label", { job: "cadvisor" }, {}, "cadvisor"],
    ["without, with the other page as a label", { metrics_path: "/metrics/resource" }, {}, "resource"],
    ["without anything that tells", {}, {}, "resource"],
    ["with empty labels", { id: "", image: "", name: "" }, service("kubelet"), "resource"],
  ])("%s", (_name, labels, resource, source) => {
    const way = openWay();
    for (let step = 0; step <= 1; step++) {
      const atMs = NOW + step * STEP_MS;
      way.take("n", resource, [counter(CPU, { ...CONTAINER_LABELS, ...labels }, atMs, step)], atMs);
    }
    const state = way.tables.pods.get(POD)!;
    const fed = CPU_COUNTERS.filter((name) => state.counterIfFed(name) !== null);
    expect(fed).toEqual([`${source}ContainersCpu`]);
  });
});

describe("rows of single cores", () => {
  const cores = (cpus: readonly string[], labels: Attributes): number | null => {
    const way = openWay();
    for (let step = 0; step <= 2; step++) {
      const atMs = NOW + step * STEP_MS;
      const rows = cpus.map((cpu) => {
        const used = cpu === "total" ? 0.4 : 0.1;
        return counter(CPU, { ...labels, id: "/kubepods/x", cpu }, atMs, step * used * (STEP_MS / 1000));
      });
      way.take("n", {}, rows, atMs);
    }
    return way.tables.pods.get(POD)!.cpu(NOW + 2 * STEP_MS, "full");
  };
  const FOUR = ["cpu00", "cpu01", "cpu02", "cpu03"];

  test.each([
    ["a container", CONTAINER_LABELS],
    ["a pod's cgroup", POD_LABELS],
  ])("of %s are its use without a total, and nothing beside one", (_, labels) => {
    expect(cores(["total"], labels)).toBeCloseTo(0.4, 6);
    expect(cores(FOUR, labels)).toBeCloseTo(0.4, 6);
    expect(cores([...FOUR, "total"], labels)).toBeCloseTo(0.4, 6);
    expect(cores(["total", ...FOUR], labels)).toBeCloseTo(0.4, 6);
  });
});

describe("metrics that are known and not needed", () => {
  test.each(["pod_cpu_usage_seconds_total", "pod_memory_working_set_bytes", "machine_cpu_cores"])(
    "%s feeds nothing and is no unknown metric",
    (name) => {
      const tables = new Tables(SHAPE, LIMITS);
      const ingest = new Ingest(tables, OPTIONS);
      ingest.take(recordOf("n", [gauge(name, POD_LABELS, NOW, 1)], { arrivedAtMs: NOW }), NOW);
      expect([tables.pods.size, tables.nodes.size, ingest.counts.unused.unknown_metric]).toEqual([0, 0, 0]);
    },
  );
});

describe("metrics with names that every object has", () => {
  test.each(["constructor", "toString", "valueOf", "__proto__", "hasOwnProperty"])(
    "%s is unknown, whatever it is labelled with",
    (name) => {
      const tables = new Tables(SHAPE, LIMITS);
      const ingest = new Ingest(tables, OPTIONS);
      const labels = {
        ...CONTAINER_LABELS,
        id: "/",
        interface: "eth0",
        reporter: "source",
        source_workload: "web",
        destination_workload: "db",
        client: "web",
        server: "db",
        connection_type: "constructor",
      };
      for (let step = 0; step <= 1; step++) {
        const atMs = NOW + step * STEP_MS;
        ingest.take(recordOf("n", [counter(name, labels, atMs, step)], { arrivedAtMs: atMs }), atMs);
      }
      expect([tables.pods.size, tables.nodes.size, tables.channels.size]).toEqual([0, 0, 0]);
      expect(ingest.counts.unused.unknown_metric).toBe(2);
    },
  );
});
