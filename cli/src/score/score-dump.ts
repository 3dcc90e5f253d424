import { allCandidates, createStrategy, rejectedNodes } from "@isochrone/placement";
import type { Candidate } from "@isochrone/topology";

import { DumpError } from "./errors.ts";
import { judgeNodes } from "./feasibility.ts";
import { lackingNodes } from "./gaps.ts";
import { byAnnotations, byGraphs } from "./question.ts";
import type { ScoreInputs } from "./question.ts";
import { readGraphs } from "./recorded-graphs.ts";
import { readObjects } from "./read-objects.ts";
import type { DumpObject } from "./read-objects.ts";

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
  /** Whether nodes without room by measured use are rejected. @default false */
  readonly usageHeadroom?: boolean;
  /**
   * What `isochrone graph -o json` printed: its figures count, and no annotation is read.
   * @default the annotations
   */
  readonly graphText?: string;
  /** For messages. @default "graph" */
  readonly graphFile?: string;
  /**
   * Prefix of the annotations' names; "" for the bare names.
   * @default isochrone.dev/, and the bare names where that is missing
   */
  readonly annotationPrefix?: string;
}

/** What `isochrone score -o json` prints. */
export interface DumpScores {
  readonly pod: string;
  readonly namespace: string;
  readonly strategy: string;
  readonly mode: string;
  /** Two answers are comparable where these are the same; `isochrone explain` says them of a decision. */
  readonly inputs: ScoreInputs;
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
  const question =
    options.graphText === undefined
      ? byAnnotations(objects, pod, options.annotationPrefix, strategy.mode === "upstream")
      : byGraphs(objects, pod, readGraphs(options.graphText, options.graphFile ?? "graph"));
  const { problem, cluster, inputs } = question;
  if (problem.candidates.length === 0) {
    throw new DumpError(
      "no_nodes",
      { file, document: null, line: null },
      "must hold at least one Node, got none",
    );
  }
  const { usageHeadroom = false } = options;
  const judged = judgeNodes(objects, pod, cluster);
  const infeasible = new Map([...rejectedNodes(strategy, problem, { usageHeadroom }), ...judged.infeasible]);
  const table = strategy.score({ ...problem, infeasible });
  return {
    pod: pod.name,
    namespace: pod.namespace,
    strategy: table.strategy,
    mode: table.mode,
    inputs,
    nodes: allCandidates(table),
    explanation: [
      ...table.explanation.sentences,
      ...lackingNodes(question),
      ...question.lacking(Object.keys(table.parts)),
      ...judged.unjudged.map(unjudgedRemark),
    ],
  };
}

function unjudgedRemark(use: string): string {
  return `nodes may be shown as feasible that are not: ${use}`;
}

function findPod(objects: readonly DumpObject[], options: ScoreDumpOptions, file: string): DumpObject {
  if (options.podText !== undefined) return readPod(options.podText, options.podFile ?? "pod", objects);
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

function readPod(text: string, file: string, beside: readonly DumpObject[]): DumpObject {
  const objects = readObjects(text, file, beside);
  const [pod] = objects;
  if (pod === undefined || objects.length > 1) {
    const rule = `must hold one Pod, got ${objects.length} objects`;
    throw new DumpError("malformed_dump", { file, document: null, line: null }, rule);
  }
  if (pod.kind !== "Pod") throw pod.fail(["kind"], "must be Pod", pod.kind);
  return pod;
}
