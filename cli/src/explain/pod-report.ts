import { conditionsOf } from "@isochrone/kubernetes/basics";
import type { KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import type { Decision } from "@isochrone/topology";
import { looseFields, looseList } from "@isochrone/primitives";

export interface PodReport {
  readonly namespace: string;
  readonly name: string;
  /** `gated`: held by a scheduling gate; `nominated`: promised a node, not yet bound. */
  readonly state: "placed" | "nominated" | "pending" | "gated" | "finished";
  readonly node: string | null;
  readonly sentences: readonly string[];
}

/** @param decision the newest; null: none @param isComplete whether every source of decisions answered */
export function podReport(pod: KubernetesObject, decision: Decision | null, isComplete = true): PodReport {
  const { namespace = "default", name } = pod.metadata;
  const of = (state: PodReport["state"], node: string | null, sentences: readonly string[]): PodReport => {
    return { namespace, name, state, node, sentences };
  };
  const phase = looseFields<PodStatus>(pod.status).phase;
  const node = textOf(looseFields<PodSpec>(pod.spec).nodeName);
  const nominated = textOf(looseFields<PodStatus>(pod.status).nominatedNodeName);
  const gates = gatesOf(pod);
  if (phase === "Succeeded" || phase === "Failed")
    return of("finished", node, [`It has finished (${phase}).`]);
  if (node !== null) return of("placed", node, placed(pod, node, decision, isComplete));
  if (gates.length > 0)
    return of("gated", null, [
      `It waits for ${gates.length === 1 ? "its scheduling gate" : "its scheduling gates"} ${gates.join(", ")} to be removed; kube-scheduler doesn't look at it.`,
    ]);
  const sentences = [...pending(pod), ...rejections(decision)];
  if (nominated === null) return of("pending", null, sentences);
  return of("nominated", nominated, [`It is nominated to ${nominated}, and not bound yet.`, ...sentences]);
}

function placed(
  pod: KubernetesObject,
  node: string,
  decision: Decision | null,
  isComplete: boolean,
): string[] {
  const by = textOf(looseFields<PodSpec>(pod.spec).schedulerName) ?? "default-scheduler";
  const first = `It is on ${node}, put there by ${by}.`;
  if (decision === null)
    return [
      first,
      isComplete
        ? "No decision about it is known: it wasn't asked about, belongs to no workflow, or the decision is no longer kept."
        : "Whether there was a decision about it is not known: not everybody who may know could be asked.",
    ];
  if (decision.kind === "plan") return [first, ...byPlan(node, decision)];
  const { best, strategy, candidates, binding } = decision;
  if (best === null || best === node) return [first, `${strategy} scored ${node} highest.`];
  // The binding's reason is more precise than the decision's.
  if (binding?.node === node && binding.reason !== null)
    return [first, `${strategy} scored ${best} highest. ${binding.reason}`];
  const scoreOf = (name: string): string => {
    const score = candidates.find((candidate) => candidate.name === name)?.score;
    return score === undefined ? "not among the kept candidates" : String(Math.round(score));
  };
  return [
    first,
    `${strategy} scored ${best} highest (${scoreOf(best)}; ${node}: ${scoreOf(node)}); kube-scheduler's own scores outweighed that, or the score came too late.`,
  ];
}

/** A plan has no scores: it was followed or obstructed. */
function byPlan(node: string, { best, plan, outcome, explanation }: Decision): string[] {
  if (best === null) return explanation.slice(0, 1);
  if (best === node) return [`That is where the plan ${plan ?? ""} of its workflow wanted it.`];
  const reason = outcome?.reason ?? "nothing is known of why";
  return [`The plan ${plan ?? ""} of its workflow wanted it on ${best}: ${reason}.`];
}

function pending(pod: KubernetesObject): string[] {
  const condition = conditionsOf(pod).find(({ type }) => type === "PodScheduled");
  if (condition === undefined || condition.status === "True")
    return ["kube-scheduler has not tried it yet, or no scheduler of its schedulerName runs."];
  const message = condition.message ?? "";
  const [, summary, causes] = /^(\d+\/\d+ nodes are available):? (.*)$/s.exec(message) ?? [];
  if (summary === undefined || causes === undefined)
    return [`kube-scheduler says: ${message === "" ? (condition.reason ?? "nothing") : message}`];
  // Causes are separated by ", <count> "; their own text may contain commas but no such number.
  const [reasons, ...rest] = causes.split(/(?<=\.) (?=preemption:|no new claims)/);
  const each = (reasons ?? "").replace(/\.$/, "").split(/, (?=\d+ )/);
  return [`${summary}, says kube-scheduler:`, ...each.map((cause) => `- ${cause}`), ...rest];
}

function rejections(decision: Decision | null): string[] {
  const refused = decision?.candidates.filter(({ feasible }) => !feasible) ?? [];
  return refused.map(
    ({ name, reason }) => `Isochrone's filter refused ${name}: ${reason ?? "no reason is kept"}`,
  );
}

function gatesOf(pod: KubernetesObject): string[] {
  return looseList<{ name: string }>(looseFields<PodSpec>(pod.spec).schedulingGates).map(({ name }) =>
    String(name),
  );
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
