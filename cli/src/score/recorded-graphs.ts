import {
  ClusterGraph,
  parseClusterGraph,
  parseDemand,
  parseWorkflowGraph,
  SnapshotError,
  WorkflowGraph,
} from "@isochrone/topology";
import type { ClusterGraphSnapshot, Demand, WorkflowGraphSnapshot } from "@isochrone/topology";
import { isRecord } from "@isochrone/primitives";
import { DumpError, shown } from "./errors.ts";
import { parseDocuments } from "./read-objects.ts";

export interface RecordedGraphs {
  readonly cluster: ClusterGraph;
  readonly workflows: readonly WorkflowGraph[];
}

interface RecordedSnapshots {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
  /** Null: recorded by a release without it. */
  readonly demand: Demand | null;
}

export function readGraphs(text: string, file: string): RecordedGraphs {
  const { cluster, workflows } = readSnapshots(text, file);
  return {
    cluster: new ClusterGraph(cluster),
    workflows: workflows.map((workflow) => new WorkflowGraph(workflow)),
  };
}

/** Throws DumpError. */
export function readSnapshots(text: string, file: string): RecordedSnapshots {
  const fail = (problem: string, cause?: unknown): DumpError =>
    new DumpError("malformed_graph", { file, document: null, line: null }, problem, { cause });
  const [document, ...others] = parseDocuments(text, file);
  const json = document?.json;
  const { cluster, workflows, demand = null } = isRecord(json) ? json : { cluster: null, workflows: null };
  if (others.length > 0 || !isRecord(cluster) || !Array.isArray(workflows))
    throw fail(
      `must be what \`isochrone graph -o json\` prints once, with cluster and workflows, got ${others.length > 0 ? `${others.length + 1} documents` : shown(json)}`,
    );
  try {
    return {
      cluster: parseClusterGraph(cluster),
      workflows: workflows.map((workflow) => parseWorkflowGraph(workflow)),
      demand: demand === null ? null : parseDemand(demand),
    };
  } catch (error) {
    if (error instanceof SnapshotError) throw fail(error.message, error);
    throw error;
  }
}
