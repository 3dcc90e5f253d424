import type { Candidate, Decision } from "@isochrone/topology";
import { GraphClient } from "@isochrone/topology/client";
import { CommandError } from "../errors.ts";
import { table } from "../output/table.ts";

export interface ExplainOptions {
  readonly server: string;
  readonly namespace: string;
  readonly output: "table" | "json";
}

const TIMEOUT_MS = 10_000;
const RECENT = 1_000;

/** Prints why a pod was placed where it is: the newest decision about it. `name` is a pod's or a workload's. */
export async function explainCommand(
  name: string,
  options: ExplainOptions,
  print: (text: string) => void,
): Promise<void> {
  const client = new GraphClient({ baseUrl: options.server, timeoutMs: TIMEOUT_MS });
  const exact = await client.decisions({ namespace: options.namespace, pod: name, limit: 1 });
  let decision = exact.value.decisions[0];
  if (decision === undefined) {
    const recent = await client.decisions({ namespace: options.namespace, limit: RECENT });
    decision = recent.value.decisions.find(({ workload }) => workload === name);
  }
  if (decision === undefined)
    throw new CommandError(
      `there is no decision about pod or workload ${JSON.stringify(name)} in namespace ${JSON.stringify(options.namespace)}; it may be older than what is kept`,
    );
  print(options.output === "json" ? JSON.stringify(decision, null, 2) : decisionText(decision));
}

export function decisionText(decision: Decision): string {
  const { inputs } = decision;
  const parts = [...new Set(decision.candidates.flatMap((candidate) => Object.keys(candidate.parts)))];
  const byScore = (a: Candidate, b: Candidate): number => b.score - a.score;
  const rows = [...decision.candidates]
    .sort(byScore)
    .map((candidate) => [
      `${candidate.name === decision.best ? "* " : "  "}${candidate.name}`,
      candidate.score,
      candidate.raw,
      ...parts.map((part) => candidate.parts[part] ?? null),
      candidate.feasible ? "" : (candidate.reason ?? "not feasible"),
    ]);
  return [
    `${decision.pod.namespace}/${decision.pod.name}, ${decision.at}, by ${decision.strategy} (${decision.mode})`,
    `inputs: cluster graph ${version(inputs.clusterVersion, inputs.clusterAgeSeconds)}, workflow graph ${version(inputs.workflowVersion, inputs.workflowAgeSeconds)}`,
    ...decision.explanation,
    "",
    table(["  node", "score", "raw", ...parts, ""], rows),
  ].join("\n");
}

function version(number: number | null, ageSeconds: number | null): string {
  if (number === null) return "not available";
  return ageSeconds === null ? String(number) : `${number} (${ageSeconds.toFixed(1)} s old)`;
}
