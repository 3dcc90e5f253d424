// A burst of pods between two graphs through the real extender: only the ledger knows earlier decisions.
import { createStrategy } from "@isochrone/placement";
import { seededRandom } from "@isochrone/runtime";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterNode } from "@isochrone/topology";
import { DecisionLog } from "../domain/decision-log.ts";
import { DecisionRecorder } from "../domain/decision-recorder.ts";
import { Ledger } from "../domain/ledger.ts";
import { Placer } from "../domain/placer.ts";
import { clusterSnapshot, podJson, workflowSnapshot } from "./graphs.ts";

/** Usage of a pod, or capacity of a node: millicores and bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

export interface Burst {
  readonly strategy: string;
  readonly kinds: readonly Amounts[];
  readonly order: readonly number[];
  readonly nodes: readonly Amounts[];
  /** Breaks ties of the highest priority, as kube-scheduler does. */
  readonly seed: number;
}

/** Keyed by node: assigned over fair share, which is proportional to free capacity. */
interface Shares {
  readonly cpu: readonly number[];
  readonly memory: readonly number[];
}

export function runBurst({ strategy, kinds, order, nodes, seed }: Burst): Shares {
  const random = seededRandom(seed);
  const names = nodes.map((_, index) => `n${index}`);
  const graphs = graphsOf(names, nodes, kinds);
  const ledger = new Ledger(60_000);
  const placer = placerOf(graphs, ledger, strategy);
  const times = { nowMs: Date.parse(graphs.cluster.observedAt), monotonicMs: 0 };
  const sent = nodes.map(() => ({ cpu: 0, memory: 0 }));
  for (const [index, kind] of order.entries()) {
    const workload = workloadOf(kind);
    const pod = `${workload}-5d4f-${index}`;
    const args = { pod: podJson(pod, workload), nodeNames: names, nodes: null };
    const best = highest(placer.prioritize(args, times).answer, names);
    const row = best[Math.floor(random.next() * best.length)]!;
    const { cpu, memory } = kinds[kind]!;
    const entry = { namespace: "shop", workflow: "flow", workload, pod, node: names[row]! };
    ledger.observe({ ...entry, cpuMillicores: cpu, memoryBytes: memory }, graphs.workflow, Infinity);
    sent[row]!.cpu += cpu;
    sent[row]!.memory += memory;
  }
  return { cpu: sharesOf("cpu", sent, nodes), memory: sharesOf("memory", sent, nodes) };
}

export function herding({ cpu, memory }: Shares): number {
  return Math.max(...cpu, ...memory);
}

function sharesOf(resource: keyof Amounts, sent: readonly Amounts[], nodes: readonly Amounts[]): number[] {
  const total = (amounts: readonly Amounts[]): number =>
    amounts.reduce((sum, each) => sum + each[resource], 0);
  const perFree = total(sent) / total(nodes);
  return sent.map((each, row) => each[resource] / (nodes[row]![resource] * perFree));
}

function highest(answer: string | Uint8Array, names: readonly string[]): number[] {
  const text = typeof answer === "string" ? answer : new TextDecoder().decode(answer);
  const listed = new Map(
    (JSON.parse(text) as { Host: string; Score: number }[]).map(({ Host, Score }) => [Host, Score]),
  );
  const most = Math.max(0, ...listed.values());
  return names.flatMap((name, row) => ((listed.get(name) ?? 0) === most ? [row] : []));
}

interface Graphs {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
}

function graphsOf(names: readonly string[], nodes: readonly Amounts[], kinds: readonly Amounts[]): Graphs {
  const [node] = clusterSnapshot().nodes as [ClusterNode];
  const [workload] = workflowSnapshot({}).workloads;
  return {
    cluster: new ClusterGraph({
      ...clusterSnapshot(),
      nodes: names.map((name, row) => ({
        ...node,
        name,
        availableCpuMillicores: nodes[row]!.cpu,
        availableMemoryBytes: nodes[row]!.memory,
      })),
      links: [],
    }),
    workflow: new WorkflowGraph({
      ...workflowSnapshot({}),
      workloads: kinds.map(({ cpu, memory }, kind) => ({
        ...workload!,
        name: workloadOf(kind),
        cpuMillicores: cpu,
        memoryBytes: memory,
      })),
      channels: [],
    }),
  };
}

function workloadOf(kind: number): string {
  return `w${kind}`;
}

function placerOf({ cluster, workflow }: Graphs, ledger: Ledger, strategy: string): Placer {
  let last = 0;
  const graphs = {
    cluster: () => cluster,
    workflow: () => workflow,
    ready: () => true,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  return new Placer({
    graphs,
    strategy: createStrategy({ strategy }),
    ledger,
    recorder: new DecisionRecorder({ graphs, ledger, decisions: new DecisionLog(1), standingOf: null }),
    newId: () => String(++last),
  });
}
