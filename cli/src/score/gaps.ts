// Finds data that the scores need and the dump lacks. Scores without data look like real scores.
import type { PlacementProblem } from "@isochrone/placement";
import type { ClusterGraph } from "@isochrone/topology";
import { objectText } from "./read-objects.ts";

interface Asked {
  readonly problem: PlacementProblem;
  readonly cluster: ClusterGraph;
}

interface Scored extends Asked {
  /** Parts of the scores; `strategy.part` if several strategies are combined. */
  readonly parts: readonly string[];
}

const MAX_NAMED = 5;

export function lackingNodes({ problem, cluster }: Asked): string[] {
  const {
    pod,
    workflow: { graph: workflow },
  } = problem;
  if (pod.workload === null || workflow === null) return [];
  const strangers = [...workflow.peersOf(pod.workload)].flatMap((peer) =>
    [...workflow.replicas(peer)].flatMap(([name, node]) =>
      node === null || name === pod.name || cluster.idOf(node) >= 0 ? [] : [`${name} on ${node}`],
    ),
  );
  if (strangers.length === 0) return [];
  const rest = strangers.length > MAX_NAMED ? ` and ${strangers.length - MAX_NAMED} more` : "";
  const named = strangers.slice(0, MAX_NAMED).join(", ");
  return [
    `Pods that it talks to are on nodes that aren't there, to which no cost is known: ${named}${rest}.`,
  ];
}

export function lackingAnnotations(scored: Scored): string[] {
  return [...ofNodes(scored), ...ofWorkload(scored)];
}

function ofNodes({ cluster, parts }: Scored): string[] {
  const { nodes } = cluster;
  const isAvailable = nodes.some(
    ({ availableCpuMillicores: cpu, availableMemoryBytes: memory }) => (cpu ?? memory) !== null,
  );
  const said = [
    ...(needs(parts, "resource") && !isAvailable ? ["what it has available (available-cpu, -memory)"] : []),
    ...(needs(parts, "network", "traffic") && cluster.medianKnownCost() === null
      ? ["what the network costs (network-cost-<node>, network-coordinate)"]
      : []),
  ];
  if (said.length === 0) return [];
  return [
    `No node of the dump says ${said.join(", nor ")}: the aggregator annotates nodes where annotations.nodes is on.`,
  ];
}

function ofWorkload({ problem, parts }: Scored): string[] {
  const { workload, namespace } = problem.pod;
  const workflow = problem.workflow.graph;
  if (workload === null || workflow === null) return [];
  const use = workflow.workload(workload);
  const channels = [...workflow.channelsFrom(workload), ...workflow.channelsTo(workload)];
  const said = [
    ...(needs(parts, "resource") && (use?.cpuMillicores ?? use?.memoryBytes ?? null) === null
      ? ["what its pods use (cpu-usage, memory-usage)"]
      : []),
    ...(needs(parts, "network", "traffic") && channels.every(({ bytesPerSecond }) => bytesPerSecond === null)
      ? ["its traffic (traffic-<workload>)"]
      : []),
  ];
  if (said.length === 0) return [];
  const subject = objectText(use?.kind ?? "workload", namespace, workload);
  return [
    `The dump doesn't say of ${subject} ${said.join(", nor ")}: the aggregator annotates workloads where annotations.workloads is on, which it isn't by default; --graph gives the graphs instead.`,
  ];
}

function needs(parts: readonly string[], ...wanted: readonly string[]): boolean {
  return parts.some((part) => wanted.includes(part.slice(part.lastIndexOf(".") + 1)));
}
