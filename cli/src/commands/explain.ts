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
  /** Of a real cluster, whose pod is looked at too. */
  readonly kubeconfig?: string;
  /** Of the kubeconfig; like it, asks that cluster. @default its current one */
  readonly context?: string;
  /** All that was done with it instead of the newest decision. */
  readonly acts?: boolean;
  /** Milliseconds between two looks; undefined: one. */
  readonly watch?: number;
  readonly output: Format;
}

interface PodAnswer {
  readonly pod: PodReport;
  readonly decision: Decision | null;
  /** Why there may be a decision that isn't known; null: all who may know were asked. */
  readonly trouble: string | null;
}

/**
 * Prints why a pod was placed where it is: the newest decision about it, and what the cluster says. `name` is
 * a pod's, a workload's or a StreamJob's.
 */
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

/** Null: there is none, or the server knows no stream jobs. */
async function findStreamJob(name: string, options: ExplainOptions): Promise<StreamJobView | null> {
  try {
    const { jobs } = (await graphClientOf(options).streams()).value;
    return jobs.find((job) => job.name === name && job.namespace === options.namespace) ?? null;
  } catch (error) {
    if (error instanceof GraphClientError) return null;
    throw error;
  }
}

/** The cluster knows more than our decisions do, which may be gone or may never have been made. */
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
