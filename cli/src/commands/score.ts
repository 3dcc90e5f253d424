import { PlacementError } from "@isochrone/placement";
import type { StrategyProfile } from "@isochrone/placement";
import { readTextFile } from "@isochrone/runtime/yaml-text";
import { reasonOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { table } from "../output/table.ts";
import { DUMP_BYTES } from "../score/read-objects.ts";
import {
  DumpError,
  readDecision,
  scoreDump,
  type DumpScores,
  type RecordedDecision,
  type ScoreDumpOptions,
} from "../score/index.ts";

interface ScoreOptions {
  readonly cluster: string;
  readonly pod?: string;
  /** Output file of `isochrone explain -o json`; provides strategy and settings. */
  readonly decision?: string;
  readonly strategy: string;
  readonly mode?: string;
  readonly channelPriorities?: string;
  readonly set?: Readonly<Record<string, number>>;
  readonly prefix?: string;
  /** Output file of `isochrone graph -o json`. @default the annotations in the dump */
  readonly graph?: string;
  readonly output: Format;
}

export async function scoreCommand(options: ScoreOptions, print: (text: string) => void): Promise<void> {
  const dumpText = readText("--cluster", options.cluster);
  const { prefix, graph } = options;
  const decision = decisionOf(options.decision);
  const pod = options.pod ?? decision?.pod;
  if (pod === undefined)
    throw usageError(
      "--pod must be a pod's manifest or the name of a pod in the dump; --decision names its own",
    );
  const scores = scored({
    dumpText,
    dumpFile: options.cluster,
    ...podOf(pod),
    ...scoringOf(options, decision),
    ...(prefix === undefined ? {} : { annotationPrefix: prefix }),
    ...(graph === undefined ? {} : { graphText: readText("--graph", graph), graphFile: graph }),
  });
  print(
    formatted(
      options.output,
      { ...scores, explanation: [...scores.explanation, ...otherGraph(scores, decision)] },
      scoresText,
    ),
  );
}

function decisionOf(file: string | undefined): RecordedDecision | null {
  return file === undefined ? null : explained(() => readDecision(readText("--decision", file), file));
}

function scoringOf(
  options: ScoreOptions,
  decision: RecordedDecision | null,
): StrategyProfile & Pick<ScoreDumpOptions, "usageHeadroom"> {
  const { strategy, mode = null, channelPriorities = "", set = {} } = options;
  if (decision !== null) return { ...decision.profile, usageHeadroom: decision.usageHeadroom };
  return { strategy, mode, channelPriorities, settings: set };
}

/** Equal scores require equal graphs. */
function otherGraph({ inputs }: DumpScores, decision: RecordedDecision | null): string[] {
  if (decision === null || decision.clusterVersion === inputs.clusterVersion) return [];
  return [
    `The decision was made by cluster graph ${decision.clusterVersion ?? "not available"}, these scores are by ${inputs.clusterVersion ?? "annotations"}: they may differ.`,
  ];
}

function scored(options: ScoreDumpOptions): DumpScores {
  return explained(() => scoreDump(options));
}

function explained<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DumpError) throw new CommandError(error.message, { cause: error });
    // It concerns --strategy, --mode, --set and --channel-priorities.
    if (error instanceof PlacementError) throw usageError(error.message, { cause: error });
    throw error;
  }
}

function readText(option: string, file: string): string {
  try {
    return readTextFile(file, DUMP_BYTES);
  } catch (error) {
    throw usageError(`${option} must be a readable file: ${reasonOf(error)}`, { cause: error });
  }
}

/** A text like a path is a file; `namespace/name` and bare names are looked up in the dump. */
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
