// From columns to words: which part put the best node first, what was neutral, and how old the inputs were.
import { shortNumber } from "./explanation.ts";
import type { Explanation, InputAges, NeutralPart } from "./explanation.ts";
import type { GraphInput, PlacementProblem } from "./problem.ts";
import type { WeighedPart } from "./resource-network.ts";
import type { ScoreTable } from "./score-table.ts";

/** Explains a table of a strategy that is a weighted sum of parts. */
export function explain(
  problem: PlacementProblem,
  unexplained: Omit<ScoreTable, "explanation">,
  parts: readonly WeighedPart[],
): Explanation {
  const table = unexplained as ScoreTable;
  const [row = -1, second] = table.ranking
    .slice(0, 2)
    .filter((each) => !table.infeasible.has(table.names[each]!));
  const best = row < 0 ? null : table.names[row]!;
  const neutral = parts.flatMap(({ name, source }): NeutralPart[] =>
    source.column === null ? [{ part: name, reason: source.reason }] : [],
  );
  const decision = row < 0 || second === undefined ? null : decide(table, parts, row, second);
  const sentences = [
    headline(table, row, second),
    ...(decision === null ? [] : [decision.sentence]),
    ...neutral.map(({ part, reason }) => `The ${part} part is neutral: ${reason}.`),
    ...parts.flatMap(({ source }) => (source.column === null ? [] : source.remarks.map(sentence))),
    inputSentence("cluster graph", problem.cluster),
    inputSentence("workflow graph", problem.workflow),
  ];
  const assumed = problem.assumed?.length ?? 0;
  if (assumed > 0) sentences.push(`${assumed} decisions that the graph doesn't show yet count as placed.`);
  return { best, decidedBy: decision?.part ?? "none", neutral, inputs: inputAges(problem), sentences };
}

function headline(table: ScoreTable, best: number, second: number | undefined): string {
  if (best < 0) return `None of the ${table.names.length} nodes is feasible.`;
  const name = table.names[best]!;
  const score = shortNumber(table.score[best]!);
  if (second === undefined) return `${name} is the only feasible node (score ${score}).`;
  return `${name} has the highest score, ${score}, before ${table.names[second]!} with ${shortNumber(table.score[second]!)}.`;
}

function decide(
  table: ScoreTable,
  parts: readonly WeighedPart[],
  best: number,
  second: number,
): { part: string; sentence: string } {
  let deciding: WeighedPart | null = null;
  let lead = 0;
  for (const part of parts) {
    const gain = part.counted === null ? 0 : part.weight * (part.counted[best]! - part.counted[second]!);
    if (gain > lead) {
      deciding = part;
      lead = gain;
    }
  }
  if (deciding === null)
    return { part: "none", sentence: "Nothing told them apart; the smaller name comes first." };
  const figures = [best, second].map(
    (row) => `${shortNumber(deciding.source.column![row]!)} on ${table.names[row]!}`,
  );
  return {
    part: deciding.name,
    sentence: `The ${deciding.name} part decided: ${figures.join(", ")} (weight ${deciding.weight}).`,
  };
}

function inputSentence(name: string, input: GraphInput<{ version: number }>): string {
  if (input.graph === null) return `No ${name} was used: ${input.reason}.`;
  const age = input.ageSeconds === null ? "of unknown age" : `${shortNumber(input.ageSeconds)} s old`;
  return `The ${name} was version ${input.graph.version}, ${age}.`;
}

function inputAges({ cluster, workflow }: PlacementProblem): InputAges {
  return {
    clusterVersion: cluster.graph?.version ?? null,
    clusterAgeSeconds: cluster.graph === null ? null : cluster.ageSeconds,
    workflowVersion: workflow.graph?.version ?? null,
    workflowAgeSeconds: workflow.graph === null ? null : workflow.ageSeconds,
  };
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
