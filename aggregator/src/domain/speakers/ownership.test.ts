// Attempts of one publisher to alter what others report; all must fail.
import { HEADERS, type Attributes, type Metric } from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState, nodeState } from "../../testing/cluster.ts";
import { counter, gauge, istio, probeMetrics, recordOf } from "../../testing/records.ts";
import { buildClusterGraph } from "../graphs/cluster-graph.ts";
import type { PodState } from "../cluster-state.ts";
import { Ingest, type IngestOptions, type SpeakingParts } from "../ingest/ingest.ts";
import { Tables } from "../graphs/tables.ts";
import { buildWorkflows } from "../graphs/workflows.ts";
import { ownName, type ClusterFacts } from "./authority.ts";
import { SpeakerPolicy } from "./policy.ts";
import { HEADER_SPEAKERS } from "./speaker.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 200, maxChannels: 1_000, maxPods: 1_000 };
const OPTIONS = {
  maxFutureMs: 1000,
  maxSeries: 20_000,
  maxSources: 64,
  maxSeriesPerSource: 1_000,
  ...LIMITS,
};
const RULE = { methods: ["udp_rr"], quantile: "p50" } as const;
const NOW = 1_700_000_000_000;
const NODES = ["n1", "n2", "evil"];
const RUNS = new Map([
  ["n1", ["shop/web"]],
  ["n2", ["shop/cart", "bank/ledger"]],
  ["evil", ["tenant/spy"]],
]);
const FACTS: ClusterFacts = {
  isNode: (name) => (NODES.includes(name) ? "yes" : "no"),
  workloadNamed: (_, name) => ownName(name),
  podNamed: () => "unknown",
  podAt: () => "no",
  outsideAt: () => null,
  runsOn: (node, namespace, workload) =>
    RUNS.get(node)?.includes(`${namespace}/${workload}`) === true ? "yes" : "no",
  hasMeshProxy: (node) => (node === "n2" ? "yes" : "no"),
  zoneOf: (node) => (NODES.includes(node) ? `zone-${node}` : undefined),
};
const POLICY = new SpeakerPolicy([
  { name: "otel", account: "a", nodes: new Set(["n1"]), namespaces: new Set(["shop"]) },
]);

let tables: Tables;
let ingest: Ingest;
let refusals: string[];
let sequences: Map<string, number>;

beforeEach(() => begin());

function begin(parts: SpeakingParts = {}, options: Partial<IngestOptions> = {}): void {
  tables = new Tables(SHAPE, LIMITS);
  refusals = [];
  sequences = new Map();
  ingest = new Ingest(
    tables,
    { ...OPTIONS, ...options },
    {
      speakers: HEADER_SPEAKERS,
      policy: POLICY,
      facts: FACTS,
      onRefused: (source, reason) => refusals.push(`${source} ${reason}`),
      ...parts,
    },
  );
}

interface Said {
  readonly speaker?: string;
  readonly source?: string;
  /** Resource claimed by the points. @default the sender's */
  readonly node?: string;
  readonly timeMs?: number;
  readonly epoch?: string;
  readonly sequence?: number;
  readonly resource?: Attributes;
}

function say(speaker: string, metrics: readonly Metric[], said: Said = {}) {
  const own = speaker.slice(speaker.indexOf("/") + 1);
  const { source = `probe/${own}`, node = own, timeMs = NOW, epoch = "e1", resource = {} } = said;
  const id = `${speaker} ${source}`;
  const sequence = said.sequence ?? (sequences.get(id) ?? -1) + 1;
  sequences.set(id, sequence);
  return ingest.take(
    recordOf(node, metrics, {
      source,
      epoch,
      sequence,
      arrivedAtMs: timeMs,
      headers: { [HEADERS.speaker]: speaker },
      resource,
    }),
    timeMs,
  );
}

function rtt(target: string, ms: number, timeMs = NOW): Metric[] {
  return probeMetrics([
    { target, timeMs, rttsMs: Array.from({ length: 30 }, () => ms), outcomes: { sent: 30, received: 30 } },
  ]);
}

function medianMs(source: string, target: string): number | null | undefined {
  const cluster = clusterState({ nodes: NODES.map((name) => nodeState(name)) });
  const { links } = buildClusterGraph(tables, cluster, RULE, { version: 1, nowMs: NOW }, "full");
  return links.find((link) => link.source === source && link.target === target)?.rttMs.p50;
}

/** A pod's CPU counter in core-seconds. */
function cpu(namespace: string, pod: string, timeMs: number, value: number): Metric[] {
  return [
    counter(
      "container_cpu_usage_seconds_total",
      { namespace, pod, container: "c", image: "i" },
      timeMs,
      value,
    ),
  ];
}

function pod(namespace: string, workload: string, node: string): PodState {
  const flow = { namespace, name: namespace };
  return {
    namespace,
    name: workload,
    node,
    workload: { kind: "Deployment", name: workload },
    workflow: flow,
  };
}

function cpuMillicores(owner: PodState, nowMs: number): number | null {
  const cluster = clusterState({ pods: [owner] });
  const [workflow] = buildWorkflows(tables, cluster, { version: 1, nowMs }, "full");
  return workflow!.workloads[0]!.cpuMillicores;
}

function requests(labels: Attributes, timeMs: number, value: number): Metric[] {
  return [counter("istio_requests_total", labels, timeMs, value, NOW - 1_000)];
}

describe("a node's speaker", () => {
  test("does not move the median of another node's link, in its own name or in the other's", () => {
    say("node/n1", rtt("n2", 50));
    for (let i = 0; i < 20; i++) {
      say("node/evil", rtt("n2", 0.01), { node: "n1" });
      say("node/evil", rtt("n2", 0.01), { node: "n1", source: "probe/n1" });
    }
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
    expect(ingest.counts.refused.not_yours).toBeGreaterThan(20);
    expect(new Set(refusals)).toEqual(new Set(["probe/evil not_yours", "node/evil not_yours"]));
  });

  test("still tells of its own node what it measures", () => {
    say("node/n1", rtt("n2", 50));
    say("node/n2", rtt("n1", 30));
    expect([medianMs("n1", "n2"), medianMs("n2", "n1")]).toEqual([
      expect.closeTo(50, 0),
      expect.closeTo(30, 0),
    ]);
    expect(refusals).toEqual([]);
  });

  test("does not make the CPU of a pod on another node ten times as large", () => {
    const web = pod("shop", "web", "n1");
    for (let second = 0; second <= 10; second++) {
      const timeMs = NOW + second * 1_000;
      say("node/n1", cpu("shop", "web", timeMs, second), { source: "collector/n1", timeMs });
      say("node/evil", cpu("shop", "web", timeMs, 10 * second), { source: "collector/evil", timeMs });
    }
    expect(cpuMillicores(web, NOW + 10_000)).toBeCloseTo(1_000, 0);
    // For a pod on its own node the report counts.
    expect(cpuMillicores(pod("shop", "web", "evil"), NOW + 10_000)).toBeCloseTo(10_000, 0);
  });

  test("does not tell what another node uses", () => {
    say("node/n1", [gauge("k8s.node.memory.working_set", {}, NOW, 5e9)], { source: "collector/n1" });
    say("node/evil", [gauge("k8s.node.memory.working_set", {}, NOW + 1, 1)], { node: "n1" });
    expect(tables.nodes.get("n1")!.memory(NOW + 1, "full")).toBe(5e9);
    expect(refusals).toEqual(["probe/evil not_yours"]);
  });

  test("spends its own budget of series only, whatever source and node it names", () => {
    const flood = Array.from({ length: 3_000 }, (_, i) => cpu("x", `p${i}`, NOW, 1)).flat();
    for (const source of ["probe/evil", "collector/evil", "probe/n1", "n1"])
      say("node/evil", flood, { source, node: "n1" });
    expect(ingest.counts.refused.too_many_series).toBeGreaterThan(0);
    say("node/n1", rtt("n2", 50));
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
    expect(ingest.series).toBeLessThan(2_000);
  });

  test("does not make the records of another speaker repeats by its sequence number", () => {
    say("node/evil", rtt("n2", 1), { source: "probe/n1", sequence: 5_000_000 });
    say("service/otel", [], { source: "probe/n1", sequence: 5_000_000 });
    for (let i = 0; i < 3; i++) say("node/n1", rtt("n2", 50), { sequence: i });
    expect(ingest.counts.duplicateRecords).toBe(0);
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
  });

  test("has few sources and epochs, and pushes out nobody else's", () => {
    say("node/n1", rtt("n2", 50), { sequence: 1 });
    for (let i = 0; i < 200; i++)
      say("node/evil", rtt("n2", 1), { source: `part-${i}/evil`, epoch: `e${i}`, sequence: i });
    expect(ingest.counts.refused.too_many_sources).toBe(192);
    expect([...ingest.clocks.entries()].map(([source]) => source)).toHaveLength(9);
    say("node/n1", rtt("n2", 50), { sequence: 1 });
    expect(ingest.counts.duplicateRecords).toBe(1);
  });

  test("may have other sources once its former ones are silent for two windows", () => {
    for (let i = 0; i < 9; i++) say("node/n1", rtt("n2", 50), { source: `former-${i}/n1` });
    expect(refusals).toEqual(["node/n1 too_many_sources"]);
    const laterMs = NOW + 2 * SHAPE.windowMs;
    say("node/n1", rtt("n2", 50, laterMs), { source: "probe/n1", timeMs: laterMs });
    expect(refusals).toHaveLength(1);
  });

  test("keeps its series apart from equal ones of others, whoever comes first", () => {
    say("node/evil", rtt("n2", 1), { node: "n1" });
    say("node/n1", rtt("n2", 50));
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
    const refused = ingest.counts.refused.not_yours;
    say("node/evil", rtt("n2", 1), { node: "n1" });
    expect(ingest.counts.refused.not_yours).toBe(2 * refused);
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
  });

  test("pushes out nobody's series by ever new resources and names of metrics", () => {
    const web = pod("shop", "web", "n1");
    const baseline = (second: number): void => {
      const timeMs = NOW + second * 1_000;
      say("node/n1", cpu("shop", "web", timeMs, second), { source: "collector/n1", timeMs });
    };
    baseline(0);
    for (let round = 0; round < 20; round++) {
      const metrics = Array.from({ length: 1_000 }, (_, i): Metric => ({
        kind: "gauge",
        name: `made.up.${round}.${i}`,
        points: [{ attributes: {}, startMs: 0, timeMs: NOW, value: 1 }],
      }));
      say("node/evil", metrics, { resource: { round } });
    }
    baseline(1);
    // A forgotten counter would have no rate yet.
    expect(cpuMillicores(web, NOW + 1_000)).toBeCloseTo(1_000, 0);
    expect(ingest.counts.refused.too_many_series).toBeGreaterThan(0);
  });
});

describe("the table of links", () => {
  test("keeps room for honest links when records of invented sources come, though nobody proves who speaks", () => {
    begin({ speakers: { speakerOf: () => ({ kind: "open" }) } });
    for (let i = 0; i < 20; i++) {
      const targets = Array.from({ length: 50 }, (_, j) => rtt(`invented-${i}-${j}`, 1)).flat();
      say("node/n1", targets, { source: `invented-${i}`, node: `invented-${i}` });
    }
    expect(tables.links.size).toBeLessThan(LIMITS.maxLinks / 2);
    expect(ingest.counts.unused.unknown_node).toBeGreaterThan(0);
    say("node/n1", rtt("n2", 50));
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
  });

  test("keeps room for others when one node's speaker invents destinations, or methods and families", () => {
    for (let i = 0; i < 400; i++) say("node/evil", rtt(`invented-${i}`, 1));
    expect(tables.links.size).toBeLessThan(LIMITS.maxLinks / 2);
    say("node/n1", rtt("n2", 50));
    expect(medianMs("n1", "n2")).toBeCloseTo(50, 0);
  });

  test("takes a link that there was no room for, when there is some again", () => {
    tables = new Tables(SHAPE, { ...LIMITS, maxLinks: 1 });
    ingest = new Ingest(tables, OPTIONS);
    const at = (target: string, timeMs: number): void =>
      void ingest.take(recordOf("n1", rtt(target, 50, timeMs), { arrivedAtMs: timeMs }), timeMs);
    at("n2", NOW);
    at("evil", NOW);
    tables.expire(NOW + SHAPE.windowMs + SHAPE.paneMs, () => false);
    at("evil", NOW + SHAPE.windowMs + SHAPE.paneMs);
    expect(tables.links.sorted().map(({ key }) => key.target)).toEqual(["evil"]);
  });
});

describe("channels", () => {
  const channels = (): string[] =>
    [...tables.channels.values()].map(({ key }) => `${key.source}-${key.target}`);

  test("are told by the speaker of a node that an end of them runs on, and by no other", () => {
    say("node/evil", requests(istio("source", "web", "cart"), NOW, 2e9));
    say("node/evil", requests(istio("destination", "web", "cart"), NOW, 2e9));
    say("node/evil", requests(istio("waypoint", "web", "cart"), NOW, 2e9));
    expect(channels()).toEqual([]);
    expect(ingest.counts.refused.not_yours).toBe(3);
    say("node/n1", requests(istio("source", "web", "cart"), NOW, 10));
    say("node/n2", requests(istio("waypoint", "web", "ledger"), NOW, 10));
    expect(channels()).toEqual(["web-cart", "web-ledger"]);
  });

  test("are told of an end by the speaker of that end's node", () => {
    say("node/n2", requests(istio("source", "web", "cart"), NOW, 10));
    expect([channels(), refusals]).toEqual([[], ["probe/n2 not_yours"]]);
    say("node/n2", requests(istio("destination", "web", "cart"), NOW, 10));
    expect(channels()).toEqual(["web-cart"]);
  });

  test("of a pod that has just started are taken a pane later", () => {
    const late = istio("source", "late", "cart");
    say("node/n1", requests(late, NOW, 1));
    expect(channels()).toEqual([]);
    RUNS.get("n1")!.push("shop/late");
    try {
      say("node/n1", requests(late, NOW + SHAPE.paneMs, 2), { timeMs: NOW + SHAPE.paneMs });
      expect(channels()).toEqual(["late-cart"]);
    } finally {
      RUNS.get("n1")!.pop();
    }
  });

  test("that one speaker invents leave room for those of others", () => {
    for (let i = 0; i < 2_000; i++) {
      const labels = istio("source", "spy", `made-up-${i}`, { source_workload_namespace: "tenant" });
      say("node/evil", requests(labels, NOW, 1));
    }
    expect(tables.channels.size).toBeLessThanOrEqual(LIMITS.maxChannels / 10);
    say("node/n1", requests(istio("source", "web", "cart"), NOW, 10));
    expect(channels()).toContain("web-cart");
  });

  test("that pods of one namespace invent leave room for those of others on the same node", () => {
    RUNS.get("n1")!.push("tenant/spy");
    try {
      for (let i = 0; i < 200; i++) {
        const labels = istio("source", "spy", `made-up-${i}`, { source_workload_namespace: "tenant" });
        say("node/n1", requests(labels, NOW, 1));
      }
      say("node/n1", requests(istio("source", "web", "cart"), NOW, 10));
      expect(channels()).toContain("web-cart");
    } finally {
      RUNS.get("n1")!.pop();
    }
  });
});

describe("a service's speaker", () => {
  test("tells of the nodes and namespaces that its rule names, and of nothing else", () => {
    const memory = (): Metric[] => [gauge("k8s.node.memory.working_set", {}, NOW, 7)];
    say("service/otel", memory(), { node: "n1" });
    say("service/otel", memory(), { node: "n2" });
    say("service/otel", cpu("shop", "web", NOW, 1), { node: "n2" });
    say("service/otel", cpu("bank", "ledger", NOW, 1), { node: "n1" });
    say("service/otel", requests(istio("source", "web", "cart"), NOW, 1));
    const ofBank = { source_workload_namespace: "bank", destination_workload_namespace: "bank" };
    say("service/otel", requests(istio("source", "ledger", "vault", ofBank), NOW, 1));
    expect([tables.nodes.size, tables.pods.size, tables.channels.size]).toEqual([1, 1, 1]);
    expect(ingest.counts.refused.not_yours).toBe(3);
  });

  test("says nothing when no rule names it", () => {
    say("service/unheard-of", rtt("n2", 1), { node: "n1" });
    expect(tables.links.size).toBe(0);
    expect(ingest.counts.refused.not_yours).toBeGreaterThan(0);
  });
});

describe("a record that nothing proves", () => {
  test.each([
    undefined,
    "",
    "n1",
    "node/",
    "node/N1",
    "node/n1/x",
    "service/",
    "service/a|b",
    "open",
    "node/n1\n",
  ])("is refused: speaker %j", (speaker) => {
    const headers: Record<string, string> = speaker === undefined ? {} : { [HEADERS.speaker]: speaker };
    const record = recordOf("n1", rtt("n2", 1), { sequence: 0, arrivedAtMs: NOW, headers });
    expect(ingest.take(record, NOW)).toBe("unproven");
    expect([tables.links.size, ingest.counts.refusedRecords]).toEqual([0, 1]);
  });
});
