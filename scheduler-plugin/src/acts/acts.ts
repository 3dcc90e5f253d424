// Groups decisions by the act that carried them out, and compares each act with its promise. Pure.
import type { Act, ActKind, Decision } from "@isochrone/topology";
import { verdictOf } from "./verdict.ts";
import type { LoggedPlan, LoggedProposal } from "../domain/plan-log.ts";

interface ActRecords {
  readonly decisions: readonly Decision[];
  readonly plans: readonly LoggedPlan[];
  readonly proposals: readonly LoggedProposal[];
}

interface ActFilter {
  readonly namespace?: string | undefined;
  readonly workload?: string | undefined;
  readonly kind?: ActKind | undefined;
  /** Wall-clock ms. Selects acts that began in [sinceMs, untilMs). */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Returns all acts, newest first. Each decision, plan and proposal with moves is in exactly one. */
export function actsOf({ decisions, plans, proposals }: ActRecords, nowMs: number): Act[] {
  // kube-scheduler also asks for scores of planned pods; those belong to the plan.
  const planned = new Map(
    decisions.flatMap((each) => (each.kind === "plan" ? [[podKey(each), keyOf(each)] as const] : [])),
  );
  const groups = Map.groupBy(decisions, (each) =>
    each.kind === "eviction" ? keyOf(each) : (planned.get(podKey(each)) ?? keyOf(each)),
  );
  const ofPlans = plans.map((plan) => {
    const members = groups.get(plan.id) ?? [];
    groups.delete(plan.id);
    return planAct(plan, withoutScores(members), nowMs);
  });
  const others = [...groups].map(([id, members]) => decidedAct(id, withoutScores(members), nowMs));
  const proposed = proposals.filter(({ pods }) => pods.length > 0).map(proposalAct);
  return [...ofPlans, ...others, ...proposed].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

export function matches(act: Act, { namespace, workload, kind, sinceMs, untilMs }: ActFilter): boolean {
  const atMs = Date.parse(act.at);
  const names = [...act.workloads, ...act.pods.map(({ name }) => name)];
  return (
    (namespace === undefined || act.namespace === namespace) &&
    (kind === undefined || act.kind === kind) &&
    (sinceMs === undefined || atMs >= sinceMs) &&
    (untilMs === undefined || atMs <= untilMs) &&
    (workload === undefined || names.some((name) => name.includes(workload)))
  );
}

function keyOf({ id, kind, act, plan }: Decision): string {
  if (kind === "eviction") return act?.id ?? id;
  return kind === "plan" ? (plan ?? id) : id;
}

function podKey({ pod: { namespace, name } }: Decision): string {
  return `${namespace}/${name}`;
}

function withoutScores(members: readonly Decision[]): readonly Decision[] {
  const planned = members.filter(({ kind }) => kind === "plan");
  return planned.length === 0 ? members : planned;
}

function decidedAct(id: string, members: readonly Decision[], nowMs: number): Act {
  const inOrder = members.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const first = inOrder[0]!;
  const pods = inOrder.map(podOf);
  return {
    id,
    kind: actKindOf(first),
    at: first.at,
    namespace: first.pod.namespace,
    workflow: first.workflow,
    workloads: namesOf(pods),
    pods,
    planned: Math.max(pods.length, first.act?.pods ?? 1),
    ...verdictOf(inOrder, nowMs),
    because: first.explanation[0] ?? null,
  };
}

function actKindOf({ kind, plan }: Decision): ActKind {
  if (kind === "eviction") return "move";
  return kind === "plan" && typeof plan === "string" ? "plan" : "placement";
}

/** @param members decisions of the plan that are still kept */
function planAct(plan: LoggedPlan, members: readonly Decision[], nowMs: number): Act {
  const known = new Map(members.map((member) => [member.id, podOf(member)]));
  const forgotten = plan.pods.filter(({ decision }) => !known.has(decision));
  const pods = [
    ...known.values(),
    ...forgotten.map(({ name, workload, node, reason, decision }) => ({
      name,
      workload,
      decision,
      from: null,
      to: node,
      node: null,
      state: reason ?? "not known",
    })),
  ];
  return {
    id: plan.id,
    kind: "plan",
    at: plan.at,
    namespace: plan.workflow.split("/", 1)[0]!,
    workflow: plan.workflow,
    workloads: namesOf(pods),
    pods,
    planned: pods.length,
    ...verdictOf(members, nowMs),
    because: plan.explanation[0] ?? null,
  };
}

function proposalAct(proposal: LoggedProposal): Act {
  const { id, at, workflow, savedRatio, gain, gainError, perRequest, explanation } = proposal;
  const pods = proposal.pods.map(({ name, workload, from, node, obstacle }) => {
    const state = obstacle === null ? "not moved: it is a proposal" : `can't be moved now: ${obstacle}`;
    return { name, workload, decision: null, from, to: node, node: from, state };
  });
  // The figures per request cover all moves; the saved share covers only the moves that can be made now.
  const isWhole = proposal.pods.every(({ obstacle }) => obstacle === null);
  const ms = isWhole ? perRequest : null;
  const error = savedRatio !== null && gain > 0 ? (savedRatio * gainError) / gain : null;
  return {
    id,
    kind: "proposal",
    at,
    namespace: workflow.split("/", 1)[0]!,
    workflow,
    workloads: namesOf(pods),
    pods,
    planned: pods.length,
    expected: {
      beforeMs: ms?.todayMs ?? null,
      afterMs: ms?.bestMs ?? null,
      gainRatio: savedRatio,
      gainErrorRatio: error,
    },
    counted: null,
    verdict: "nothing_moved",
    sentence: "Nothing was moved: it is a proposal.",
    because: explanation[0] ?? null,
  };
}

function podOf(decision: Decision): Act["pods"][number] {
  const { id, pod, workload, kind, binding, best, outcome } = decision;
  const where = binding?.node ?? null;
  const isMove = kind === "eviction";
  const stayed = outcome?.result === "withdrawn";
  return {
    name: pod.name,
    workload,
    decision: id,
    from: isMove ? where : null,
    to: best,
    node: isMove ? (stayed ? where : (outcome?.node ?? null)) : where,
    state: stateOf(decision),
  };
}

function stateOf({ kind, binding, outcome }: Decision): string {
  if (kind === "eviction") return outcome === undefined ? "moving" : (outcome.reason ?? "moved");
  if (binding === undefined) return outcome?.result.replaceAll("_", " ") ?? "not known";
  if (binding.state === "gone") return binding.node === null ? "gone, never placed" : "gone";
  if (binding.state === "pending") return "not placed yet";
  return binding.agreement === "otherwise" ? (binding.reason ?? "runs elsewhere") : "runs as chosen";
}

function namesOf(pods: Act["pods"]): string[] {
  return [...new Set(pods.flatMap(({ workload }) => workload ?? []))].sort();
}
