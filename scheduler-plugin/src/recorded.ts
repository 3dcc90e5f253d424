// Recomputes the extender's questions offline, from recorded graphs and objects.
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { PlacementProblem } from "@isochrone/placement";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { identityOf, isGone, placementOf } from "./adapters/observed-pod.ts";
import { Ledger } from "./domain/ledger.ts";
import { problemOf, workloadIn } from "./domain/placer.ts";
import type { PodIdentity } from "./domain/pod.ts";
import { entryOf } from "./domain/reserved-use.ts";

interface RecordedCluster {
  readonly cluster: ClusterGraph;
  readonly workflows: readonly WorkflowGraph[];
  readonly pods: readonly KubernetesObject[];
}

/** Default of `scheduler.ledgerMs`. */
const IN_FLIGHT_MS = 60_000;

/**
 * The question about `pod` at the time of the cluster graph. Like a running extender's ledger, counts pods
 * bound in the last minute that the workflow's graph doesn't show yet, except `pod` itself.
 */
export function recordedProblem(
  pod: KubernetesObject,
  candidates: readonly string[],
  { cluster, workflows, pods }: RecordedCluster,
): PlacementProblem {
  const identity = identityOf(pod);
  const byName = new Map(workflows.map((graph) => [`${graph.namespace}/${graph.name}`, graph]));
  const graphOf = ({ namespace, workflow }: PodIdentity): WorkflowGraph | null =>
    byName.get(`${namespace}/${workflow}`) ?? null;
  const nowMs = Date.parse(cluster.observedAt);
  const ledger = new Ledger(IN_FLIGHT_MS);
  for (const other of pods) {
    const { namespace, name } = identityOf(other);
    const placement = placementOf(other);
    if (placement === null || isGone(other) || (namespace === identity.namespace && name === identity.name))
      continue;
    const { node, bound, sinceMs } = placement;
    if (bound && sinceMs !== null && sinceMs + IN_FLIGHT_MS <= nowMs) continue;
    const graph = graphOf(identityOf(other));
    ledger.observe(entryOf(identityOf(other), node, graph, cluster), graph, Infinity);
  }
  const workflow = graphOf(identity);
  const workload = workloadIn(workflow, identity);
  return problemOf(identity, workload, candidates, { cluster, workflow, ledger }, nowMs);
}
