// Checks whether the network and workflow graphs suffice for a plan.
import { pairPrices, type PairPrices, type PriceTable } from "@isochrone/prices";
import type { ClusterGraph, Decision, WorkflowGraph } from "@isochrone/topology";
import { graphAgeSeconds } from "../domain/graph-age.ts";
import type { GraphSource } from "../ports/ports.ts";
import type { ReleaseReason } from "./metrics.ts";

export interface UsableGraphs {
  readonly cluster: ClusterGraph;
  readonly workflow: WorkflowGraph;
  readonly inputs: Decision["inputs"];
  /** Covers the nodes of `cluster`; undefined if unknown. */
  readonly prices: PairPrices | undefined;
}

interface UselessGraphs {
  readonly reason: Extract<ReleaseReason, "no_graph" | "stale_graph" | "unknown_workflow">;
  readonly text: string;
  readonly mayCome: boolean;
}

/** @param workflow null checks only the cluster graph, and always returns a reason */
export function usableGraphs(
  graphs: GraphSource,
  workflow: { readonly namespace: string; readonly name: string } | null,
  nowMs: number,
): UsableGraphs | UselessGraphs {
  const cluster = graphs.cluster();
  if (cluster === null) return { reason: "no_graph", text: "no cluster graph was read yet", mayCome: true };
  const clusterAgeSeconds = graphAgeSeconds(cluster, nowMs);
  if (clusterAgeSeconds > cluster.maxAgeSeconds) return stale("cluster graph", clusterAgeSeconds, cluster);
  const found = workflow === null ? null : graphs.workflow(workflow.namespace, workflow.name);
  if (found === null) {
    const what = workflow === null ? "workflow" : `workflow ${workflow.namespace}/${workflow.name}`;
    return { reason: "unknown_workflow", text: `the graphs know no ${what}`, mayCome: true };
  }
  const workflowAgeSeconds = graphAgeSeconds(found, nowMs);
  if (workflowAgeSeconds > cluster.maxAgeSeconds) return stale("workflow graph", workflowAgeSeconds, cluster);
  return {
    cluster,
    workflow: found,
    prices: pricesOf(graphs, cluster),
    inputs: {
      clusterVersion: cluster.version,
      clusterAgeSeconds,
      workflowVersion: found.version,
      workflowAgeSeconds,
    },
  };
}

const PRICES = new WeakMap<ClusterGraph, readonly [PriceTable, PairPrices]>();

export function pricesOf(graphs: Pick<GraphSource, "prices">, cluster: ClusterGraph): PairPrices | undefined {
  const table = graphs.prices?.() ?? null;
  if (table === null) return undefined;
  const known = PRICES.get(cluster);
  if (known?.[0] === table) return known[1];
  const prices = pairPrices(cluster.nodes, table);
  PRICES.set(cluster, [table, prices]);
  return prices;
}

function stale(what: string, ageSeconds: number, { maxAgeSeconds }: ClusterGraph): UselessGraphs {
  const text = `the ${what} is ${Math.round(ageSeconds)} s old, more than ${maxAgeSeconds} s`;
  return { reason: "stale_graph", text, mayCome: false };
}
