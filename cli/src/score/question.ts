// The question that a dump asks of a strategy, by the annotations of its objects or by graphs that were
// recorded beside it.
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { PlacementProblem } from "@isochrone/placement";
import { recordedProblem } from "@isochrone/scheduler-plugin/recorded";
import { DEFAULT_ANNOTATION_PREFIXES } from "@isochrone/topology";
import type { ClusterGraph } from "@isochrone/topology";
import { observedTimes } from "./annotations.ts";
import { appGroupRemarks } from "./dump-app-groups.ts";
import { dumpCluster } from "./dump-cluster.ts";
import { requestsOf, WorkloadIndex } from "./dump-pods.ts";
import { dumpWorkflow } from "./dump-workflow.ts";
import { apiObject } from "./feasibility.ts";
import { lackingAnnotations } from "./gaps.ts";
import type { DumpObject } from "./read-objects.ts";
import type { RecordedGraphs } from "./recorded-graphs.ts";
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
  const all = withPod(objects, pod);
  const index = new WorkloadIndex(all);
  const { name, kind: workloadKind } = index.workloadOf(pod);
  const { workload, workflow } = asUpstream
    ? upstreamWorkflow(all, pod, index)
    : {
        workload: name,
        workflow: { graph: dumpWorkflow(all, pod, index, prefixes), ageSeconds: null },
      };
  const problem: PlacementProblem = {
    pod: { namespace: pod.namespace, name: pod.name, workload, requests: requestsOf(pod) },
    candidates: cluster.nodes.map((node) => node.name),
    cluster: { graph: cluster, ageSeconds: null },
    workflow,
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
      ...appGroupRemarks(all, pod, index),
      ...(asUpstream ? [] : lackingAnnotations({ problem, cluster, workloadKind, parts })),
    ],
  };
}

/** The pod in the place of the one that the dump has of its name. */
function withPod(objects: readonly DumpObject[], pod: DumpObject): DumpObject[] {
  const { namespace, name } = pod;
  const isIt = (other: DumpObject): boolean =>
    other.kind === "Pod" && other.namespace === namespace && other.name === name;
  return [...objects.filter((object) => !isIt(object)), pod];
}

/** As a running extender is asked when it has these graphs and the cluster's pods are as in the dump. */
export function byGraphs(
  objects: readonly DumpObject[],
  pod: DumpObject,
  { cluster, workflows }: RecordedGraphs,
): Question {
  const kubernetesObject = (object: DumpObject): KubernetesObject => apiObject(object) as KubernetesObject;
  const nodes = objects.filter(({ kind }) => kind === "Node").map(({ name }) => name);
  const problem = recordedProblem(kubernetesObject(pod), nodes, {
    cluster,
    workflows,
    pods: objects.filter(({ kind }) => kind === "Pod").map(kubernetesObject),
  });
  const all = withPod(objects, pod);
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
      ...appGroupRemarks(all, pod, new WorkloadIndex(all)),
      ...(strangers.length === 0
        ? []
        : [`The cluster graph knows nothing of nodes of the dump: ${strangers.join(", ")}.`]),
    ],
  };
}
