import { normalised } from "./columns.ts";
import type { WeighedPart } from "./weighed-part.ts";
import { shortNumber } from "./explanation.ts";
import type { Explanation, ExplanationInputs, InputAges, NeutralPart } from "./explanation.ts";
import type { Remarks } from "./network-part.ts";
import type { PlacementProblem } from "./problem.ts";
import { bestRows } from "./score-table.ts";
import type { ScoreTable } from "./score-table.ts";
import type { CombinationMode } from "./strategy.ts";

/** The result retains neither columns nor graphs. @param within neutral components of the parts */
export function explain(
  problem: PlacementProblem,
  table: Omit<ScoreTable, "explanation">,
  parts: readonly WeighedPart[],
  mode: CombinationMode,
  within: readonly NeutralPart[] = [],
): Explanation {
  const [best, second] = bestRows(table);
  return new PartsExplanation({
    nodes: table.names.length,
    best: entryAt(table, best),
    second: entryAt(table, second),
    tied: tiedWith(table, best, second),
    decided: best < 0 || second < 0 ? null : decide(parts, best, second, mode),
    neutral: [
      ...parts.flatMap(({ name, source }): NeutralPart[] =>
        source.column === null ? [{ part: name, reason: source.reason }] : [],
      ),
      ...within,
    ],
    remarks: parts.flatMap(({ source }) => (source.column === null ? [] : [source.remarks])),
    inputs: { ...inputAges(problem), ...estimates(parts) },
    noCluster: problem.cluster.graph === null ? problem.cluster.reason : null,
    noWorkflow: problem.workflow.graph === null ? problem.workflow.reason : null,
    assumed: problem.assumed?.length ?? 0,
  });
}

interface Findings {
  readonly nodes: number;
  readonly best: Entry | null;
  readonly second: Entry | null;
  readonly tied: Tie | null;
  readonly decided: Decided | null;
  readonly neutral: readonly NeutralPart[];
  readonly remarks: readonly Remarks[];
  readonly inputs: ExplanationInputs;
  readonly noCluster: string | null;
  readonly noWorkflow: string | null;
  readonly assumed: number;
}

interface Entry {
  readonly name: string;
  readonly score: number;
}

interface Tie {
  readonly nodes: number;
  readonly named: readonly string[];
}

interface Decided {
  readonly part: string | null;
  readonly weight: number;
}

class PartsExplanation implements Explanation {
  readonly best: string | null;
  readonly decidedBy: string;
  readonly neutral: readonly NeutralPart[];
  readonly inputs: ExplanationInputs;
  readonly #findings: Findings;

  constructor(findings: Findings) {
    this.best = findings.best?.name ?? null;
    this.decidedBy = findings.decided?.part ?? "none";
    this.neutral = findings.neutral;
    this.inputs = findings.inputs;
    this.#findings = findings;
  }

  get remarks(): readonly string[] {
    return this.#findings.remarks.flatMap((said) => said());
  }

  /** Sentences are worded on access: most decisions are never read. */
  get sentences(): readonly string[] {
    const { decided, neutral, inputs, noCluster, noWorkflow, assumed } = this.#findings;
    const sentences = [
      headline(this.#findings),
      ...(decided === null ? [] : [decidedSentence(this.#findings, decided)]),
      ...neutral.map(({ part, reason }) => `The ${part} part is neutral: ${reason}.`),
      ...this.remarks.map(sentence),
      inputSentence("cluster graph", inputs.clusterVersion, inputs.clusterAgeSeconds, noCluster),
      inputSentence("workflow graph", inputs.workflowVersion, inputs.workflowAgeSeconds, noWorkflow),
    ];
    if (assumed > 0) sentences.push(`${assumed} decisions that the graph doesn't show yet count as placed.`);
    return sentences;
  }
}

function entryAt(table: Omit<ScoreTable, "explanation">, row: number): Entry | null {
  return row < 0 ? null : { name: table.names[row]!, score: table.score[row]! };
}

const MAX_NAMED = 5;

function tiedWith(table: Omit<ScoreTable, "explanation">, best: number, second: number): Tie | null {
  const { score, names, infeasible } = table;
  if (best < 0 || second < 0 || score[best] !== score[second]) return null;
  const tied = names.filter((name, row) => score[row] === score[best] && !infeasible.has(name));
  return { nodes: tied.length, named: tied.sort().slice(0, MAX_NAMED) };
}

function listed({ nodes, named }: Tie): string {
  if (nodes > named.length) return `${named.join(", ")} and ${nodes - named.length} more`;
  return `${named.slice(0, -1).join(", ")} and ${named.at(-1)!}`;
}

function headline({ nodes, best, second, tied }: Findings): string {
  if (best === null) return `None of the ${nodes} nodes is feasible.`;
  const score = shortNumber(best.score);
  if (second === null) return `${best.name} is the only feasible node (score ${score}).`;
  if (tied?.nodes === nodes) return `All ${nodes} nodes tie at score ${score}.`;
  if (tied !== null)
    return `${tied.nodes} of the ${nodes} nodes tie at the highest score, ${score}: ${listed(tied)}.`;
  return `${best.name} has the highest score, ${score}, before ${second.name} with ${shortNumber(second.score)}.`;
}

function decide(parts: readonly WeighedPart[], best: number, second: number, mode: CombinationMode): Decided {
  let decided: Decided = { part: null, weight: 0 };
  let lead = 0;
  for (const { name, source, scale, ...part } of parts) {
    if (source.column === null || scale === null) continue;
    const weight = mode === "raw" ? (part.rawWeight ?? part.weight) : part.weight;
    const onBest = source.column[best]!;
    const onSecond = source.column[second]!;
    const difference =
      mode === "raw" ? onBest - onSecond : normalised(onBest, scale) - normalised(onSecond, scale);
    if (weight * difference <= lead) continue;
    decided = { part: name, weight };
    lead = weight * difference;
  }
  return decided;
}

function decidedSentence({ best, tied }: Findings, { part, weight }: Decided): string {
  if (part === null || tied !== null)
    return `Nothing told them apart; ${best!.name} comes first by its name alone.`;
  return `The ${part} part decided (weight ${weight}).`;
}

function inputSentence(
  name: string,
  version: number | null,
  ageSeconds: number | null,
  reason: string | null,
): string {
  if (reason !== null) return `No ${name} was used: ${reason}.`;
  const age = ageSeconds === null ? "of unknown age" : `${shortNumber(ageSeconds)} s old`;
  // Graph versions start at 1; 0 marks a graph built from objects.
  const origin = version === 0 ? "read from the cluster's objects" : `version ${version}`;
  return `The ${name} was ${origin}, ${age}.`;
}

function inputAges({ cluster, workflow }: PlacementProblem): InputAges {
  return {
    clusterVersion: cluster.graph?.version ?? null,
    clusterAgeSeconds: cluster.graph === null ? null : cluster.ageSeconds,
    workflowVersion: workflow.graph?.version ?? null,
    workflowAgeSeconds: workflow.graph === null ? null : workflow.ageSeconds,
  };
}

function estimates(
  parts: readonly WeighedPart[],
): Pick<ExplanationInputs, "channelsByRequests" | "bytesPerRequest"> {
  for (const { source } of parts) {
    if (source.column === null || !source.byRequests) continue;
    const { channels, bytesPerRequest } = source.byRequests;
    return { channelsByRequests: channels, bytesPerRequest };
  }
  return { channelsByRequests: 0, bytesPerRequest: null };
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
