// Graphs as `isochrone graph -o json` prints them.
import { ClusterGraph, SnapshotError, WorkflowGraph } from "@isochrone/topology";
import { isRecord } from "@isochrone/primitives";
import { DumpError, shown } from "./errors.ts";
import { parseDocuments } from "./read-objects.ts";

export interface RecordedGraphs {
  readonly cluster: ClusterGraph;
  readonly workflows: readonly WorkflowGraph[];
}

/** Throws DumpError. */
export function readGraphs(text: string, file: string): RecordedGraphs {
  const fail = (problem: string, cause?: unknown): DumpError =>
    new DumpError("malformed_graph", { file, document: null, line: null }, problem, { cause });
  const [document, ...others] = parseDocuments(text, file);
  const json = document?.json;
  const { cluster, workflows } = isRecord(json) ? json : { cluster: null, workflows: null };
  if (others.length > 0 || !isRecord(cluster) || !Array.isArray(workflows))
    throw fail(
      `must be what \`isochrone graph -o json\` prints once, with cluster and workflows, got ${others.length > 0 ? `${others.length + 1} documents` : shown(json)}`,
    );
  try {
    return {
      cluster: ClusterGraph.fromJson(cluster),
      workflows: workflows.map((workflow) => WorkflowGraph.fromJson(workflow)),
    };
  } catch (error) {
    if (error instanceof SnapshotError) throw fail(error.message, error);
    throw error;
  }
}
