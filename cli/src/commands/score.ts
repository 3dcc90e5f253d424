import { PlacementError } from "@isochrone/placement";
import { readTextFile } from "@isochrone/runtime/yaml-text";
import { CommandError, usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { table } from "../output/table.ts";
import { DUMP_BYTES } from "../score/read-objects.ts";
import { DumpError, scoreDump, type DumpScores, type ScoreDumpOptions } from "../score/index.ts";

export interface ScoreOptions {
  readonly cluster: string;
  readonly pod: string;
  readonly strategy: string;
  readonly mode?: string;
  readonly channelPriorities?: string;
  readonly set?: Readonly<Record<string, number>>;
  readonly prefix?: string;
  /** File with what `isochrone graph -o json` printed. @default the annotations in the dump */
  readonly graph?: string;
  readonly output: Format;
}

/** Scores the nodes of a dump for a pod and prints them, the best first in the table, in the dump's order as JSON. */
export async function scoreCommand(options: ScoreOptions, print: (text: string) => void): Promise<void> {
  const dumpText = readText("--cluster", options.cluster);
  const pod = podOf(options.pod);
  const { strategy, mode = null, channelPriorities = "", set, prefix, graph } = options;
  const scores = scored({
    dumpText,
    dumpFile: options.cluster,
    ...pod,
    strategy,
    mode,
    channelPriorities,
    ...(set === undefined ? {} : { settings: set }),
    ...(prefix === undefined ? {} : { annotationPrefix: prefix }),
    ...(graph === undefined ? {} : { graphText: readText("--graph", graph), graphFile: graph }),
  });
  print(formatted(options.output, scores, scoresText));
}

function scored(options: ScoreDumpOptions): DumpScores {
  try {
    return scoreDump(options);
  } catch (error) {
    if (error instanceof DumpError) throw new CommandError(error.message, { cause: error });
    // What it complains of are --strategy, --mode, --set and --channel-priorities.
    if (error instanceof PlacementError) throw usageError(error.message, { cause: error });
    throw error;
  }
}

function readText(option: string, file: string): string {
  try {
    return readTextFile(file, DUMP_BYTES);
  } catch (error) {
    throw usageError(`${option} must be a readable file: ${(error as Error).message}`, { cause: error });
  }
}

/** Whatever looks like a file is one; `namespace/name` and bare names are looked up in the dump. */
function podOf(pod: string): Pick<ScoreDumpOptions, "podText" | "podFile" | "podName"> {
  if (/\.(ya?ml|json)$/i.test(pod)) return { podText: readText("--pod", pod), podFile: pod };
  return { podName: pod };
}

function scoresText({ pod, namespace, strategy, mode, inputs, nodes, explanation }: DumpScores): string {
  const parts = [...new Set(nodes.flatMap((node) => Object.keys(node.parts)))];
  const rows = [...nodes]
    .sort((a, b) => Number(b.feasible) - Number(a.feasible) || b.score - a.score)
    .map((node) => [
      node.name,
      node.score,
      node.raw,
      ...parts.map((part) => node.parts[part] ?? null),
      node.feasible ? "" : (node.reason ?? "not feasible"),
    ]);
  return [
    `${namespace}/${pod} by ${strategy} (${mode})`,
    `inputs: ${inputsText(inputs)}`,
    ...explanation,
    "",
    table(["node", "score", "raw", ...parts, ""], rows),
  ].join("\n");
}

function inputsText({
  clusterVersion,
  workflowVersion,
  observedFrom,
  observedTo,
}: DumpScores["inputs"]): string {
  if (clusterVersion !== null)
    return `cluster graph ${clusterVersion}, workflow graph ${workflowVersion ?? "not available"}, ${observedTo}`;
  if (observedFrom === null) return "annotations of unknown age";
  return `annotations of ${observedFrom}${observedTo === observedFrom ? "" : ` to ${observedTo}`}`;
}
