// Runs a draw on its own clock and compares every published figure with the truth.
import { fill, startAggregator } from "@isochrone/aggregator/testing";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createRegistry } from "@isochrone/runtime";
import type { ClusterNode, WorkflowGraphSnapshot } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import { INTERVAL_MS, istioName, NAMESPACE, RUN_MS, type Draw } from "./draw.ts";
import { expectedFigures, type Figures } from "./expected.ts";
import { Pages, type Page } from "./pages.ts";
import { startReaders } from "./readers.ts";
import { strayRows } from "./strays.ts";
import { outsideCalls, RENDERERS } from "./traffic-sources.ts";
import { ALLOCATABLE } from "./usage-sources.ts";

const WINDOW_MS = 300_000;
const TOLERANCE = 0.01;

interface Outcome {
  /** One line per wrong figure: name, truth and published value. */
  readonly mistakes: readonly string[];
  readonly compared: number;
  readonly unknown: readonly string[];
  readonly leftOut: ReadonlyMap<string, number>;
}

/** @param expected figures to compare with; tests of the comparison pass wrong ones */
export async function runDraw(draw: Draw, expected = expectedFigures(draw)): Promise<Outcome> {
  const registry = createRegistry();
  const settings = {
    windowMs: WINDOW_MS,
    paneMs: WINDOW_MS / 30,
    buildIntervalMs: RUN_MS / 3,
    clusterNames: draw.clusterNames,
  };
  const running = await startAggregator({ settings, parts: { registry } });
  try {
    const { clock, store, aggregator } = running;
    await fill(store, objectsOf(draw));
    await clock.advance(1_000);
    const beganMs = clock.now();
    const readers = [];
    for (const one of draw.other === null ? [draw] : [draw, draw.other]) {
      const pages = pagesOf(one);
      for (const node of one.nodes) {
        const around = { draw: one, node, running, beganMs };
        const own = pages.filter((page) => page.node === node);
        for (const reader of await startReaders(around, own)) readers.push({ node, reader });
      }
    }
    const isRestarted = new Set<unknown>();
    while (clock.now() - beganMs < RUN_MS) {
      await clock.advance(INTERVAL_MS);
      for (const { node, reader } of readers) {
        const dueMs = node.readerRestartMs;
        if (dueMs !== null && clock.now() - beganMs >= dueMs && !isRestarted.has(reader)) {
          isRestarted.add(reader);
          await reader.restart();
        }
        await reader.tick();
      }
    }
    await clock.advance(10_000);
    const graphs = new GraphClient({ baseUrl: aggregator.address().url, timeoutMs: 10_000 });
    const published = await publishedFigures(graphs);
    const leftOut = await countsOf(registry);
    await Promise.all(readers.map(({ reader }) => reader.stop()));
    return outcomeOf(draw, expected, published, leftOut);
  } finally {
    await running.stop();
  }
}

function pagesOf(draw: Draw): Page[] {
  const pages = new Pages();
  for (const channel of draw.channels)
    for (const name of channel.sources) RENDERERS[name](draw, channel, pages);
  outsideCalls(draw, pages);
  strayRows(draw, pages);
  return pages.all();
}

function outcomeOf(draw: Draw, expected: Figures, published: Figures, leftOut: Map<string, number>): Outcome {
  const reasons: string[] = [...draw.strays, ...(draw.other === null ? [] : ["other_cluster"])];
  const mistakes = [
    ...compare(expected, published),
    ...reasons
      .filter((reason) => !leftOut.has(reason))
      .map((reason) => `${reason}: left out, and not counted`),
    ...[...leftOut]
      .filter(([reason]) => !reasons.includes(reason) && !isCounted(draw, reason))
      .map(([reason, count]) => `${reason}: ${count} points of good rows left out`),
  ];
  const unknown = [...expected].filter(([, value]) => value === null).map(([name]) => name);
  return { mistakes, compared: expected.size, unknown, leftOut };
}

/** Calls to an unknown end create no demand for a Service. Calls to another cluster create none here. */
function isCounted({ outsideCalls }: Draw, reason: string): boolean {
  const farEnd = { unattributed: "unknown", other_cluster: "other_cluster" }[reason];
  return outsideCalls.some((call) => call.direction === "out" && call.farEnd === farEnd);
}

function compare(expected: Figures, published: Figures): string[] {
  const names = new Set([...expected.keys(), ...published.keys()]);
  return [...names].flatMap((name) => {
    const truth = expected.get(name);
    const figure = published.get(name);
    if (isRight(truth, figure)) return [];
    return [`${name}: expected ${told(truth)}, published ${told(figure)}`];
  });
}

const told = (value: number | string | null | undefined): string =>
  value === undefined ? "nothing" : String(value);

function isRight(
  truth: number | string | null | undefined,
  figure: number | string | null | undefined,
): boolean {
  if (typeof truth !== "number" || typeof figure !== "number") return truth === figure;
  return Math.abs(figure - truth) <= TOLERANCE * Math.abs(truth);
}

type Values = Readonly<Record<string, number | string | null | undefined>>;

async function publishedFigures(graphs: GraphClient): Promise<Figures> {
  const workflows = (await graphs.workflowChanges(null)).graphs;
  const { nodes } = (await graphs.cluster()).value;
  const { services } = (await graphs.demand()).value;
  const subjects: [string, Values][] = [
    ...workflows.flatMap(workflowFigures),
    ...nodes.map(nodeFigures),
    ...services.flatMap(({ namespace, name, zones }) =>
      zones.map(({ zone, requestsPerSecond, errorRatio, latencyMs: { p50, p90 } }): [string, Values] => [
        `demand ${namespace}/${name} ${zone}`,
        { requestsPerSecond, errorRatio, p50, p90 },
      ]),
    ),
  ];
  return new Map(
    subjects.flatMap(([subject, values]) =>
      Object.entries(values).map(([name, value]) => [`${subject} ${name}`, value ?? null]),
    ),
  );
}

function workflowFigures({ channels, workloads, outside = [] }: WorkflowGraphSnapshot): [string, Values][] {
  return [
    ...channels.map((channel): [string, Values] => {
      const { source, target, bytesPerSecond, requestsPerSecond, errorRatio, countedBy } = channel;
      const { requestsCountedBy = countedBy } = channel;
      const values = { bytesPerSecond, requestsPerSecond, errorRatio, countedBy, requestsCountedBy };
      return [`channel ${source} -> ${target}`, values];
    }),
    ...outside.map((flow): [string, Values] => {
      const { workload, destination, sentBytesPerSecond, receivedBytesPerSecond } = flow;
      const { sentRequestsPerSecond, receivedRequestsPerSecond } = flow;
      const bytes = { sentBytesPerSecond, receivedBytesPerSecond };
      return [
        `outside ${workload} ${destination}`,
        { ...bytes, sentRequestsPerSecond, receivedRequestsPerSecond },
      ];
    }),
    ...workloads.map(({ name, cpuMillicores, memoryBytes }): [string, Values] => [
      `workload ${name}`,
      { cpuMillicores, memoryBytes },
    ]),
  ];
}

function nodeFigures(node: ClusterNode): [string, Values] {
  const { networkReceiveBitsPerSecond, networkTransmitBitsPerSecond } = node;
  const { availableCpuMillicores: cpu, availableMemoryBytes: memory } = node;
  return [
    `node ${node.name}`,
    {
      usedCpuMillicores: cpu === null ? null : ALLOCATABLE.cores * 1000 - cpu,
      usedMemoryBytes: memory === null ? null : ALLOCATABLE.memoryBytes - memory,
      networkReceiveBitsPerSecond,
      networkTransmitBitsPerSecond,
    },
  ];
}

async function countsOf(registry: ReturnType<typeof createRegistry>): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const name of ["isochrone_aggregator_unused_total", "isochrone_aggregator_refused_total"]) {
    const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
    for (const { labels, value } of values) if (value > 0) counts.set(String(labels["reason"]), value);
  }
  return counts;
}

function labelsOf(draw: Draw, workload: string): Record<string, string> {
  const renamed = draw.isRenamed ? { "service.istio.io/workload-name": istioName(draw, workload) } : {};
  return { app: workload, "isochrone.dev/workflow": NAMESPACE, ...renamed };
}

function objectsOf(draw: Draw): KubernetesObject[] {
  const owned = (kind: string, name: string) => [
    { apiVersion: "apps/v1", kind, name, uid: `${kind}-${name}`, controller: true },
  ];
  const quantities = { cpu: String(ALLOCATABLE.cores), memory: String(ALLOCATABLE.memoryBytes) };
  const nodes = draw.nodes.map(({ name, zone }) => ({
    ...KINDS.node,
    metadata: { name, labels: { "topology.kubernetes.io/zone": zone } },
    status: {
      capacity: quantities,
      allocatable: quantities,
      conditions: [{ type: "Ready", status: "True" }],
    },
  }));
  const workloads = [...new Set(draw.pods.map(({ workload }) => workload))].flatMap((name) => {
    const labels = labelsOf(draw, name);
    const replicaSet = `${name}-5bc845f79c`;
    return [
      {
        ...KINDS.deployment,
        metadata: { namespace: NAMESPACE, name },
        spec: { selector: { matchLabels: { app: name } }, template: { metadata: { labels } } },
      },
      {
        ...KINDS.replicaSet,
        metadata: { namespace: NAMESPACE, name: replicaSet, ownerReferences: owned("Deployment", name) },
      },
      { ...KINDS.service, metadata: { namespace: NAMESPACE, name }, spec: { selector: { app: name } } },
    ];
  });
  const pods = draw.pods.map(({ name, workload, node, ip, containers }) => ({
    ...KINDS.pod,
    metadata: {
      namespace: NAMESPACE,
      name,
      labels: labelsOf(draw, workload),
      ownerReferences: owned("ReplicaSet", `${workload}-5bc845f79c`),
    },
    spec: {
      nodeName: node.name,
      containers: containers.map((container) => ({ name: container.name, image: "app:1" })),
    },
    status: { phase: "Running", podIP: ip },
  }));
  return [...nodes, ...workloads, ...pods];
}
