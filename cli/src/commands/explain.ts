import { reasonOf } from "@isochrone/primitives";
import type { Decision, StreamJobView } from "@isochrone/topology";
import { GraphClientError } from "@isochrone/topology/client";
import { CommandError } from "../errors.ts";
import { decisionText } from "../explain/decision-text.ts";
import { elsewhereText, findDecision, unaskedSentence } from "../explain/find-decision.ts";
import type { PodReport } from "../explain/pod-report.ts";
import { graphClientOf } from "../graph-client.ts";
import type { GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf } from "../output/show.ts";
import type { View } from "../output/show.ts";

interface ExplainOptions extends GraphServerOptions {
  readonly namespace: string;
  /** Names a real cluster whose pod is also inspected. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Prints all acts on it instead of the newest decision. */
  readonly acts?: boolean;
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
  readonly output: Format;
}

interface PodAnswer {
  readonly pod: PodReport;
  readonly decision: Decision | null;
  /** Why the newest decision may be missing; null: every source answered. */
  readonly trouble: string | null;
}

/** Prints a pod's newest decision and the cluster's state. `name` is a pod, workload or StreamJob. */
export async function explainCommand(
  name: string,
  options: ExplainOptions,
  print: (text: string) => void,
): Promise<void> {
  if (options.acts === true) return show(() => actsView(name, options), options, print);
  const isReal = (options.kubeconfig ?? options.context) !== undefined;
  const read = (): Promise<View> => (isReal ? explainReal(name, options) : explainDecision(name, options));
  await show(read, options, print);
}

async function actsView(name: string, options: ExplainOptions): Promise<View> {
  const { namespace } = options;
  const { value } = await graphClientOf(options).acts({ namespace, workload: name });
  const { actsText } = await import("../explain/acts-text.ts");
  return viewOf(value, { text: (shown) => actsText(shown, `${namespace}/${name}`) });
}

async function explainDecision(name: string, options: ExplainOptions): Promise<View> {
  const { decision, incomplete } = await findDecision(graphClientOf(options), options.namespace, name);
  const unasked = unaskedSentence(incomplete);
  if (decision !== null) {
    const text = (shown: Decision): string =>
      [decisionText(shown), ...(unasked === null ? [] : [unasked])].join("\n\n");
    return viewOf(decision, { text });
  }
  const job = await findStreamJob(name, options);
  if (job === null) {
    const elsewhere = await elsewhereText(graphClientOf(options), options.namespace, name);
    throw new CommandError(
      `there is no decision about pod or workload ${JSON.stringify(name)} in namespace ${JSON.stringify(options.namespace)}; ${elsewhere ?? "it may be older than what is kept"}${unasked === null ? "" : `. ${unasked}`}`,
    );
  }
  const { jobText, jobViewOf } = await import("../streams/job-view.ts");
  return viewOf(jobViewOf(job), { text: jobText });
}

async function findStreamJob(name: string, options: ExplainOptions): Promise<StreamJobView | null> {
  try {
    const { jobs } = (await graphClientOf(options).streams()).value;
    return jobs.find((job) => job.name === name && job.namespace === options.namespace) ?? null;
  } catch (error) {
    if (error instanceof GraphClientError) return null;
    throw error;
  }
}

/** A pod may exist without a decision. */
async function explainReal(name: string, options: ExplainOptions): Promise<View> {
  const { readPod, podReport } = await import("../explain/cluster.ts");
  const { pod, webhook } = await readPod(name, options);
  const { decision, trouble } = await decisionIfAny(name, options);
  const report = podReport(pod, decision, trouble === null);
  const sentences = webhook === null ? report.sentences : [...report.sentences, webhook];
  return viewOf<PodAnswer>({ pod: { ...report, sentences }, decision, trouble }, { text: podText });
}

function podText({ pod, decision, trouble }: PodAnswer): string {
  const lines = [`${pod.namespace}/${pod.name}: ${pod.state}`, ...pod.sentences];
  if (trouble !== null) lines.push(trouble);
  if (decision !== null) lines.push("", decisionText(decision));
  return lines.join("\n");
}

async function decisionIfAny(
  name: string,
  options: ExplainOptions,
): Promise<{ decision: Decision | null; trouble: string | null }> {
  try {
    const { decision, incomplete } = await findDecision(graphClientOf(options), options.namespace, name);
    return { decision, trouble: unaskedSentence(incomplete) };
  } catch (error) {
    if (!(error instanceof GraphClientError)) throw error;
    return { decision: null, trouble: `Our decisions can't be read: ${reasonOf(error)}` };
  }
}
