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
  /** YAML or JSON: objects, lists or several documents. */
  readonly dumpText: string;
  /** File name for messages. @default "dump" */
  readonly dumpFile?: string;
  /** Pod to score, as YAML or JSON; alternative to `podName`. */
  readonly podText?: string;
  /** File name for messages. @default "pod" */
  readonly podFile?: string;
  /** Pod of the dump: `name`, or `namespace/name` if the name is ambiguous. */
  readonly podName?: string;
  readonly strategy: string;
  /** @default the strategy's mode */
  readonly mode?: string | null;
  readonly settings?: Readonly<Record<string, number>>;
  /** Relationship types of communication-affinity, in addition to its own. */
  readonly channelPriorities?: string;
  /** Rejects nodes without room by measured usage. @default false */
  readonly usageHeadroom?: boolean;
  /** Output of `isochrone graph -o json`. Replaces all annotations. @default the annotations */
  readonly graphText?: string;
  /** File name for messages. @default "graph" */
  readonly graphFile?: string;
  /** Prefix of annotation names; "" for bare names. @default isochrone.dev/, else bare names */
  readonly annotationPrefix?: string;
}

export interface DumpScores {
  readonly pod: string;
  readonly namespace: string;
  readonly strategy: string;
  readonly mode: string;
  /** Two answers are comparable if these are equal. `isochrone explain` prints them for a decision. */
  readonly inputs: ScoreInputs;
  /** All nodes, in the order of the dump. */
  readonly nodes: readonly Candidate[];
  readonly explanation: readonly string[];
}

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
