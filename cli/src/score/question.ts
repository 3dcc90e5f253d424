// The question that a dump asks of a strategy, by the annotations of its objects or by graphs that were
// recorded beside it.
import type { PlacementProblem } from "@isochrone/placement";
import { recordedProblem } from "@isochrone/scheduler-plugin/recorded";
import { DEFAULT_ANNOTATION_PREFIXES } from "@isochrone/topology";
import type { ClusterGraph } from "@isochrone/topology";
import { observedTimes } from "./annotations.ts";
import { annotatedWorkflows } from "./annotated-workflows.ts";
import { kubernetesObject } from "./api-objects.ts";
import { appGroupRemarks } from "./app-group-remarks.ts";
import { dumpCluster } from "./dump-cluster.ts";
import { lackingAnnotations } from "./gaps.ts";
import type { DumpObject } from "./read-objects.ts";
import type { RecordedGraphs } from "./recorded-graphs.ts";
import { ScoredDump } from "./scored-dump.ts";
import { upstreamWorkflow } from "./upstream-workflow.ts";

/** What figures are of: graphs of these versions, or annotations that were written between these times. */
export interface ScoreInputs {
  /** null: annotations, which have none. */
  readonly clusterVersion: number | null;
  readonly workflowVersion: number | null;
  /** RFC 3339; null where nothing says. */
  readonly observedFrom: string | null;
  readonly observedTo: string | null;
}

interface Question {
  readonly problem: PlacementProblem;
  readonly cluster: ClusterGraph;
  readonly inputs: ScoreInputs;
  /** What the scores, of these parts, would have gone by, and wasn't there. */
  readonly lacking: (parts: readonly string[]) => readonly string[];
}

/** Throws DumpError. @param prefix of the annotations; undefined: the usual ones */
export function byAnnotations(
  objects: readonly DumpObject[],
  pod: DumpObject,
  prefix: string | undefined,
  /** The plugin that it follows reads NetworkTopology and AppGroups alone, and looks at no pod's phase. */
  asUpstream: boolean,
): Question {
  const prefixes = prefix === undefined ? DEFAULT_ANNOTATION_PREFIXES : [prefix];
  const cluster = dumpCluster(objects, prefixes, asUpstream);
  const dump = new ScoredDump(objects, pod);
  const workflows = asUpstream ? [] : annotatedWorkflows(dump, prefixes);
  const candidates = cluster.nodes.map((node) => node.name);
  const asked = recordedProblem(dump.pod, candidates, { cluster, workflows, pods: [] });
  const { workload, workflow } = asUpstream
    ? upstreamWorkflow(dump)
    : { workload: asked.pod.workload, workflow: asked.workflow };
  const problem: PlacementProblem = {
    ...asked,
    pod: { ...asked.pod, workload },
    cluster: { graph: cluster, ageSeconds: null },
    workflow: ageless(workflow),
  };
  const times = observedTimes(objects, prefixes);
  return {
    problem,
    cluster,
    inputs: {
      clusterVersion: null,
      workflowVersion: null,
      observedFrom: times[0] ?? null,
      observedTo: times.at(-1) ?? null,
    },
    lacking: (parts) => [
      ...appGroupRemarks(dump),
      ...(asUpstream ? [] : lackingAnnotations({ problem, cluster, parts })),
    ],
  };
}

/** Nothing says when a dump was taken. */
function ageless(workflow: PlacementProblem["workflow"]): PlacementProblem["workflow"] {
  return workflow.graph === null ? workflow : { ...workflow, ageSeconds: null };
}

/** As a running extender is asked when it has these graphs and the cluster's pods are as in the dump. */
export function byGraphs(
  objects: readonly DumpObject[],
  pod: DumpObject,
  { cluster, workflows }: RecordedGraphs,
): Question {
  const nodes = objects.filter(({ kind }) => kind === "Node").map(({ name }) => name);
  const problem = recordedProblem(kubernetesObject(pod), nodes, {
    cluster,
    workflows,
    pods: objects.filter(({ kind }) => kind === "Pod").map(kubernetesObject),
  });
  const strangers = nodes.filter((name) => cluster.idOf(name) < 0);
  return {
    problem,
    cluster,
    inputs: {
      clusterVersion: cluster.version,
      workflowVersion: problem.workflow.graph?.version ?? null,
      observedFrom: cluster.observedAt,
      observedTo: cluster.observedAt,
    },
    lacking: () => [
      ...appGroupRemarks(new ScoredDump(objects, pod)),
      ...(strangers.length === 0
        ? []
        : [`The cluster graph knows nothing of nodes of the dump: ${strangers.join(", ")}.`]),
    ],
  };
}
