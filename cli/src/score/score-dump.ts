import { allCandidates, createStrategy, rejectedNodes } from "@isochrone/placement";
import type { PlacementProblem } from "@isochrone/placement";
import { DEFAULT_ANNOTATION_PREFIXES } from "@isochrone/topology";
import type { Candidate } from "@isochrone/topology";

import { appGroupRemarks } from "./dump-app-groups.ts";
import { dumpCluster } from "./dump-cluster.ts";
import { requestsOf, WorkloadIndex } from "./dump-pods.ts";
import { dumpWorkflow } from "./dump-workflow.ts";
import { DumpError } from "./errors.ts";
import { judgeNodes } from "./feasibility.ts";
import { readObjects } from "./read-objects.ts";
import type { DumpObject } from "./read-objects.ts";
import { upstreamWorkflow } from "./upstream-workflow.ts";

export interface ScoreDumpOptions {
  /** YAML or JSON: objects, lists, several documents. */
  readonly dumpText: string;
  /** For messages. @default "dump" */
  readonly dumpFile?: string;
  /** The pod to score, as YAML or JSON; or `podName`. */
  readonly podText?: string;
  /** For messages. @default "pod" */
  readonly podFile?: string;
  /** A pod of the dump: `name`, or `namespace/name` where the name alone is ambiguous. */
  readonly podName?: string;
  readonly strategy: string;
  /** @default the strategy's own */
  readonly mode?: string | null;
  /** The strategy's weights. */
  readonly settings?: Readonly<Record<string, number>>;
  /** Relationship types of communication-affinity beside its own. */
  readonly channelPriorities?: string;
  /** Prefix of the annotations' names; "" for the bare names. @default isochrone.dev/, and the bare names where that is missing */
  readonly annotationPrefix?: string;
}

/** What `isochrone score -o json` prints. */
export interface DumpScores {
  readonly pod: string;
  readonly namespace: string;
  readonly strategy: string;
  readonly mode: string;
  /** Every node of the dump, in its order. */
  readonly nodes: readonly Candidate[];
  readonly explanation: readonly string[];
}

/** Scores a pod on every node of a dump, without any service. Throws DumpError or PlacementError. */
export function scoreDump(options: ScoreDumpOptions): DumpScores {
  const strategy = createStrategy(options);
  const file = options.dumpFile ?? "dump";
  const objects = readObjects(options.dumpText, file);
  const pod = findPod(objects, options, file);
  const prefixes =
    options.annotationPrefix === undefined ? DEFAULT_ANNOTATION_PREFIXES : [options.annotationPrefix];
  // The plugin that it follows reads NetworkTopology alone, and looks at no pod's phase.
  const asUpstream = strategy.mode === "upstream";
  const cluster = dumpCluster(objects, prefixes, asUpstream);
  if (cluster.nodes.length === 0) {
    throw new DumpError(
      "no_nodes",
      { file, document: null, line: null },
      "must hold at least one Node, got none",
    );
  }
  const all = withPod(objects, pod);
  const index = new WorkloadIndex(all);
  const { workload, workflow } = asUpstream
    ? upstreamWorkflow(all, pod, index)
    : {
        workload: index.workloadOf(pod).name,
        workflow: { graph: dumpWorkflow(all, pod, index, prefixes), ageSeconds: null },
      };
  const problem: PlacementProblem = {
    pod: { namespace: pod.namespace, name: pod.name, workload, requests: requestsOf(pod) },
    candidates: cluster.nodes.map(({ name }) => name),
    cluster: { graph: cluster, ageSeconds: null },
    workflow,
  };
  const judged = judgeNodes(objects, pod, cluster);
  const infeasible = new Map([...rejectedNodes(strategy, problem), ...judged.infeasible]);
  const table = strategy.score({ ...problem, infeasible });
  return {
    pod: pod.name,
    namespace: pod.namespace,
    strategy: table.strategy,
    mode: table.mode,
    nodes: allCandidates(table),
    explanation: [
      ...table.explanation.sentences,
      ...appGroupRemarks(all, pod, index),
      ...judged.unjudged.map(unjudgedRemark),
    ],
  };
}

function unjudgedRemark(use: string): string {
  return `nodes may be shown as feasible that are not: ${use}`;
}

/** The pod in the place of the one that the dump has of its name. */
function withPod(objects: readonly DumpObject[], pod: DumpObject): DumpObject[] {
  const { namespace, name } = pod;
  const isIt = (other: DumpObject): boolean =>
    other.kind === "Pod" && other.namespace === namespace && other.name === name;
  return [...objects.filter((object) => !isIt(object)), pod];
}

function findPod(objects: readonly DumpObject[], options: ScoreDumpOptions, file: string): DumpObject {
  if (options.podText !== undefined) return readPod(options.podText, options.podFile ?? "pod");
  const wanted = options.podName ?? "";
  const found = objects.filter(
    ({ kind, namespace, name }) => kind === "Pod" && (name === wanted || `${namespace}/${name}` === wanted),
  );
  if (found.length === 1) return found[0]!;
  const problem =
    found.length === 0
      ? `holds no pod ${wanted}`
      : `holds ${found.length} pods ${wanted} (${found.map(({ namespace }) => namespace).join(", ")}): name its namespace`;
  throw new DumpError("unknown_pod", { file, document: null, line: null }, problem);
}

function readPod(text: string, file: string): DumpObject {
  const objects = readObjects(text, file);
  const [pod] = objects;
  if (pod === undefined || objects.length > 1) {
    const rule = `must hold one Pod, got ${objects.length} objects`;
    throw new DumpError("malformed_dump", { file, document: null, line: null }, rule);
  }
  if (pod.kind !== "Pod") throw pod.fail(["kind"], "must be Pod", pod.kind);
  return pod;
}
