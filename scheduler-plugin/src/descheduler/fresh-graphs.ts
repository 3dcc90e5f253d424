import type { WorkflowGraph } from "@isochrone/topology";
import { graphAgeSeconds } from "../domain/graph-age.ts";
import type { GraphSource } from "../ports/ports.ts";
import type { Graphs } from "./carry-out.ts";

/** Returns null without a fresh cluster graph: old measurements move nobody. */
export function freshGraphs(graphs: Pick<GraphSource, "cluster" | "workflow">, nowMs: number): Graphs | null {
  const cluster = graphs.cluster();
  if (cluster === null) return null;
  const isFresh = (graph: { readonly observedAt: string }): boolean =>
    graphAgeSeconds(graph, nowMs) <= cluster.maxAgeSeconds;
  if (!isFresh(cluster)) return null;
  const workflow = (namespace: string, name: string): WorkflowGraph | null => {
    const graph = graphs.workflow(namespace, name);
    return graph !== null && isFresh(graph) ? graph : null;
  };
  return { cluster, workflow };
}
