// Nodes differ only by measurement noise. Takes the node with the highest score, or with fewer pods on a tie.
import { defaultLinks, defaultSites, loadManifest, SAMPLE_MANIFEST } from "@isochrone/lab";
import { createStrategy } from "@isochrone/placement";
import type { PlacementProblem } from "@isochrone/placement";
import { seededRandom } from "@isochrone/runtime";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { clusterGraph, NAMESPACE, workflowGraph } from "../../../harness/extender.ts";
import { placementCost } from "./problem.ts";
import type { PlacementExperiment } from "./problem.ts";

/** Relative measurement noise: of nodes' free resources, and of round-trip times. */
const FREE_NOISE = 0.02;
const COST_NOISE = 0.01;
/** Usage of pods: a part of their request of 350m, and tens of MB. */
const USE = { cpuMillicores: [50, 300], memoryBytes: [40e6, 120e6] } as const;
const FREE = { cpuMillicores: 1_850, memoryBytes: 7.5e9 } as const;

export type Settings = Readonly<Record<string, number>>;
type Amounts = { cpuMillicores: number; memoryBytes: number };

/** Cost of placing all pods one at a time, dependencies first; bytes/s x ms. */
export function placeAll(experiment: PlacementExperiment, settings: Settings): number {
  const { workloads, pinned } = experiment;
  const place = placing(experiment, settings);
  const nodeOf = workloads.map(() => -1);
  for (let workload = workloads.length - 1; workload >= 0; workload--)
    nodeOf[workload] = pinned[workload] ?? place(workload, nodeOf, nodeOf);
  return placementCost(experiment, nodeOf);
}

/** Cost ratio after and before placing each pod again, in manifest order with alternating regions. */
export function placeAnew(experiment: PlacementExperiment, settings: Settings): number {
  const { workloads, nodes, seed } = experiment;
  const place = placing(experiment, settings);
  const order = interleaved(experiment);
  const before = workloads.map((_, workload) => order[(workload + seed) % nodes.length]!);
  const nodeOf = [...before];
  const anew = workloads.map(() => -1);
  for (let workload = 0; workload < workloads.length; workload++) {
    nodeOf[workload] = -1;
    nodeOf[workload] = anew[workload] = place(workload, nodeOf, anew);
  }
  return placementCost(experiment, nodeOf) / placementCost(experiment, before);
}

/** The embedded cluster at ten requests per second; nodes have room for all. */
export async function embeddedExperiment(seed: number): Promise<PlacementExperiment> {
  const { workloads: services } = await loadManifest(SAMPLE_MANIFEST);
  const workloads = services.map(({ name }) => name);
  const sites = defaultSites();
  return {
    seed,
    workloads,
    channels: services.flatMap(({ callees, behaviour }, source) =>
      callees.map((callee) => {
        const target = workloads.indexOf(callee);
        return {
          source,
          target,
          bytesPerSecond: 10 * (behaviour.requestBytes + services[target]!.behaviour.responseBytes),
        };
      }),
    ),
    nodes: sites,
    costMs: defaultLinks(sites).map((row) => row.map(({ rttMs }) => rttMs)),
    capacity: workloads.length,
    pinned: workloads.map(() => null),
  };
}

/** Returns -1 for no node. Pods in `sent` are not in the node graph yet and are assumed. */
type Place = (workload: number, nodeOf: readonly number[], sent: readonly number[]) => number;

function placing(experiment: PlacementExperiment, settings: Settings): Place {
  const { workloads, nodes, channels, capacity, seed } = experiment;
  const random = seededRandom(seed);
  const between = (low: number, high: number): number => low + (high - low) * random.next();
  const use = workloads.map((): Amounts => ({
    cpuMillicores: between(...USE.cpuMillicores),
    memoryBytes: between(...USE.memoryBytes),
  }));
  const cluster = measuredCluster(experiment, (share) => 1 + between(-share, share));
  const strategy = createStrategy({ strategy: "resource-network", settings });
  return (workload, nodeOf, sent) => {
    const pods = nodes.map((_, node) => nodeOf.filter((on) => on === node).length);
    const rows = nodes.flatMap((_, node) => (pods[node]! < capacity ? [node] : []));
    const placed = workloads.map((name, other): [string, string[]] => [
      name,
      nodeOf[other]! < 0 ? [] : [nodes[nodeOf[other]!]!.name],
    ]);
    const snapshot = workflowGraph(
      Object.fromEntries(placed),
      channels.map(({ source, target, bytesPerSecond }) => [
        workloads[source]!,
        workloads[target]!,
        bytesPerSecond,
      ]),
    );
    const workflow = new WorkflowGraph({
      ...snapshot,
      workloads: snapshot.workloads.map((each, index) => ({ ...each, ...use[index]! })),
    });
    const problem: PlacementProblem = {
      pod: { namespace: NAMESPACE, name: "p", workload: workloads[workload]! },
      candidates: rows.map((node) => nodes[node]!.name),
      cluster: { graph: cluster, ageSeconds: 0 },
      workflow: { graph: workflow, ageSeconds: 0 },
      assumedUse: summed(
        nodes.map(({ name }) => name),
        sent,
        use,
      ),
    };
    const { score } = strategy.score(problem);
    const best = rows.map((node, row) => ({ node, score: score[row]!, pods: pods[node]! }));
    return best.sort((a, b) => b.score - a.score || a.pods - b.pods)[0]!.node;
  };
}

function measuredCluster(
  { nodes, costMs }: PlacementExperiment,
  noisy: (share: number) => number,
): ClusterGraph {
  const rowOf = new Map(nodes.map(({ name }, row) => [name, row]));
  const snapshot = clusterGraph(nodes, (a, b) => costMs[rowOf.get(a)!]![rowOf.get(b)!]! * noisy(COST_NOISE));
  return new ClusterGraph({
    ...snapshot,
    nodes: snapshot.nodes.map((node) => ({
      ...node,
      availableCpuMillicores: FREE.cpuMillicores * noisy(FREE_NOISE),
      availableMemoryBytes: FREE.memoryBytes * noisy(FREE_NOISE),
    })),
  });
}

function summed(
  names: readonly string[],
  sent: readonly number[],
  use: readonly Amounts[],
): Map<string, Amounts> {
  const sums = new Map<string, Amounts>();
  for (const [workload, node] of sent.entries()) {
    if (node < 0) continue;
    const sum = sums.get(names[node]!) ?? { cpuMillicores: 0, memoryBytes: 0 };
    sum.cpuMillicores += use[workload]!.cpuMillicores;
    sum.memoryBytes += use[workload]!.memoryBytes;
    sums.set(names[node]!, sum);
  }
  return sums;
}

/** Nodes with alternating regions, like the embedded cluster's spread start. */
function interleaved({ nodes }: PlacementExperiment): number[] {
  const regions = Map.groupBy(nodes.keys(), (node) => nodes[node]!.region);
  const longest = Math.max(...[...regions.values()].map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) =>
    [...regions.values()].flatMap((each) => each.slice(turn, turn + 1)),
  ).flat();
}
