// Builds the placement problem of a dump, from annotations or from recorded graphs.
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

/** Origin of the figures: graph versions, or the time span of annotations. */
export interface ScoreInputs {
  /** Null for annotations. */
  readonly clusterVersion: number | null;
  readonly workflowVersion: number | null;
  /** RFC 3339; null if unknown. */
  readonly observedFrom: string | null;
  readonly observedTo: string | null;
}

interface Question {
  readonly problem: PlacementProblem;
  readonly cluster: ClusterGraph;
  readonly inputs: ScoreInputs;
  readonly lacking: (parts: readonly string[]) => readonly string[];
}

export function byAnnotations(
  objects: readonly DumpObject[],
  pod: DumpObject,
  prefix: string | undefined,
  /** Upstream's plugin reads only NetworkTopology and AppGroups, and ignores pod phases. */
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

/** Removes ages, because the time of a dump is unknown. */
function ageless(workflow: PlacementProblem["workflow"]): PlacementProblem["workflow"] {
  return workflow.graph === null ? workflow : { ...workflow, ageSeconds: null };
}

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
