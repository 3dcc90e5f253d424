// Adapts a strategy of @isochrone/placement to a kube-scheduler plugin that scores pod by pod and tracks
// placements.
import type { AssumedPod, PlacementProblem, Strategy } from "@isochrone/placement";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { NAMESPACE } from "./graphs.ts";
import type { Amounts } from "./graphs.ts";
import type { ExtraPlugin } from "./kube-scheduler/imitation.ts";
import type { WaitingPod } from "./kube-scheduler/port.ts";

export interface Graphs {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
}

/**
 * kube-scheduler adds integer scores of 0 to 100, so a plugin must normalise its sums over feasible nodes.
 * The plugin returns a strategy's `score` (min-max), never `raw`, as the published plugins of 000's authors
 * do.
 */
export function strategyPlugin(strategy: Strategy, weight: number, graphs: Graphs): ExtraPlugin {
  const sent = new SentPods(graphs.workflow);
  const ask = (pod: WaitingPod, nodes: readonly string[]): PlacementProblem => ({
    ...problemOf(pod, nodes, graphs),
    assumed: sent.pods,
    assumedUse: sent.use,
  });
  return {
    weight,
    ...(strategy.filter === undefined ? {} : { admits: (pod, nodes) => admitted(strategy, ask(pod, nodes)) }),
    score: (pod, nodes) => strategy.score(ask(pod, nodes)).score,
    placed: (pod, node) => sent.add(pod, node),
  };
}

export function problemOf(
  { name, workload, cpuMillicores, memoryBytes }: WaitingPod,
  candidates: readonly string[],
  { cluster, workflow }: Graphs,
): PlacementProblem {
  const requests = {
    cpuMillicores: cpuMillicores === 0 ? null : cpuMillicores,
    memoryBytes: memoryBytes === 0 ? null : memoryBytes,
  };
  return {
    pod: { namespace: NAMESPACE, name, workload, requests },
    candidates,
    cluster: { graph: cluster, ageSeconds: 0 },
    workflow: { graph: workflow, ageSeconds: 0 },
  };
}

function admitted(strategy: Strategy, problem: PlacementProblem): ReadonlySet<string> {
  const rejected = strategy.filter!(problem);
  return new Set(problem.candidates.filter((name) => !rejected.has(name)));
}

/** Pods placed in this run, which the graphs don't show yet. */
class SentPods {
  readonly pods: AssumedPod[] = [];
  readonly use = new Map<string, Amounts>();
  readonly #workflow: WorkflowGraph;

  constructor(workflow: WorkflowGraph) {
    this.#workflow = workflow;
  }

  add({ name, workload, cpuMillicores, memoryBytes }: WaitingPod, node: string): void {
    this.pods.push({ workload, name, node });
    const measured = this.#workflow.workload(workload);
    const before = this.use.get(node) ?? { cpuMillicores: 0, memoryBytes: 0 };
    this.use.set(node, {
      cpuMillicores: before.cpuMillicores + (measured?.cpuMillicores ?? cpuMillicores),
      memoryBytes: before.memoryBytes + (measured?.memoryBytes ?? memoryBytes),
    });
  }
}
