// The planner's outputs: decisions for the API, Events on pods, ledger entries.
import type { EventRecorder } from "@isochrone/kubernetes";
import { peerCosts } from "@isochrone/placement";
import type { AssumedPod, PeerCosts } from "@isochrone/placement";
import type { ClusterGraph, Decision, WorkflowGraph } from "@isochrone/topology";
import type { Clock } from "@isochrone/runtime";
import type { DecisionLog } from "../domain/decision-log.ts";
import type { Ledger } from "../domain/ledger.ts";
import { entryOf } from "../domain/reserved-use.ts";
import type { LoggedPlan, LoggedPlanPod, PlanLog } from "../domain/plan-log.ts";
import type { Rejection } from "./cluster-model.ts";
import type { GatedPod } from "./gated-workflows.ts";
import type { UsableGraphs } from "./graphs.ts";
import type { Arrival } from "./landings.ts";
import type { ReleaseReason } from "./metrics.ts";
import type { Landing } from "./settings.ts";

export interface ReportedPod {
  readonly pod: GatedPod;
  readonly workload: string | null;
  readonly node: string;
  readonly candidates: Decision["candidates"];
  readonly sentences: readonly string[];
}

interface ReportedPlan extends Omit<LoggedPlan, "id" | "at" | "pods"> {
  readonly placed: readonly ReportedPod[];
  readonly inputs: Decision["inputs"];
  readonly graph: WorkflowGraph;
  readonly cluster: ClusterGraph;
}

interface PlannerReportsOptions {
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  readonly ledger: Ledger;
  readonly events: Pick<EventRecorder, "event"> | null;
  readonly landing: Landing;
  readonly newId: () => string;
  readonly clock: Clock;
}

const STRATEGY = "joint-plan";
const NO_INPUTS: Decision["inputs"] = {
  clusterVersion: null,
  clusterAgeSeconds: null,
  workflowVersion: null,
  workflowAgeSeconds: null,
};

export class PlannerReports {
  readonly #options: PlannerReportsOptions;

  constructor(options: PlannerReportsOptions) {
    this.#options = options;
  }

  planned({ placed, inputs, graph, cluster, ...plan }: ReportedPlan): string[] {
    const { decisions, plans, ledger, landing, newId, clock } = this.#options;
    const id = newId();
    const at = new Date(clock.now()).toISOString();
    const pods: LoggedPlanPod[] = [];
    const peersOf = peersWithin(placed, cluster, graph);
    for (const { pod, workload, node, candidates, sentences } of placed) {
      const { identity } = pod;
      const { name } = identity;
      const decision = newId();
      pods.push({ name, workload, node, reason: null, decision });
      const made = {
        at,
        plan: id,
        workflow: plan.workflow,
        workload,
        strategy: STRATEGY,
        mode: landing,
        inputs,
        explanation: [...sentences, ...plan.explanation],
        best: node,
        candidates,
      };
      const peers = peersOf(pod, workload, candidates);
      decisions.add({ id: decision, kind: "plan", pod: identity, identity, peers, show: () => made });
      ledger.record(entryOf(pod.identity, node, graph, null), graph, clock.monotonic());
    }
    plans.add({ ...plan, id, at, pods });
    return pods.map(({ decision }) => decision);
  }

  /** The pod was created with its nodes. Returns the decision's id. */
  admitted(
    reported: ReportedPod,
    workflow: string,
    { inputs, workflow: graph, cluster }: UsableGraphs,
  ): string {
    const { decisions, ledger, newId, clock } = this.#options;
    const { pod, workload, node, candidates, sentences } = reported;
    const { identity } = pod;
    const id = newId();
    const made = {
      at: new Date(clock.now()).toISOString(),
      plan: null,
      workflow,
      workload,
      strategy: STRATEGY,
      mode: "admission",
      inputs,
      explanation: [...sentences],
      best: node,
      candidates,
    };
    const peers = peersWithin([reported], cluster, graph)(pod, workload, candidates);
    decisions.add({ id, kind: "plan", pod: identity, identity, peers, show: () => made });
    ledger.record(entryOf(identity, node, graph, null), graph, clock.monotonic());
    return id;
  }

  unplanned(pods: readonly GatedPod[], reason: ReleaseReason, text: string): void {
    const { decisions, events, landing, newId, clock } = this.#options;
    const at = new Date(clock.now()).toISOString();
    for (const { identity, object } of pods) {
      const { namespace, workflow, workloads } = identity;
      const made = {
        at,
        plan: null,
        workflow: `${namespace}/${workflow}`,
        workload: workloads[0] ?? null,
        strategy: STRATEGY,
        mode: landing,
        inputs: NO_INPUTS,
        explanation: [`Released without a plan (${reason}): ${text}`],
        best: null,
        candidates: [],
      };
      decisions.add({ id: newId(), kind: "plan", pod: identity, identity, show: () => made });
      events?.event(object, {
        type: reason === "error" || reason === "deadline" ? "Warning" : "Normal",
        reason: "ReleasedUnplanned",
        action: "Planning",
        note: `released without a plan: ${text}`,
      });
    }
  }

  taken({ object }: GatedPod, workflow: string, decision: string): void {
    this.#conclude(decision, "nominated_by_other", null, "somebody else has nominated the pod");
    this.#options.events?.event(object, {
      type: "Normal",
      reason: "ReleasedUnplanned",
      action: "Planning",
      note: `the plan of ${workflow} is not followed: somebody else has nominated the pod`,
    });
  }

  /** @param why the planned node would reject it now; null if it would not */
  arrived({ flight, outcome, node, message }: Arrival, why: Rejection | null): void {
    const reason = reasonOf({ outcome, message, planned: flight.node }, why);
    if (flight.decision !== null) this.#conclude(flight.decision, outcome, node, reason);
    if (outcome === "gone" || flight.workflow === "") return;
    const [namespace = "default", name = ""] = flight.key.split("/");
    const isLanded = outcome === "landed";
    this.#options.events?.event(
      { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, uid: flight.uid } },
      {
        type: outcome === "unschedulable" || outcome === "timed_out" ? "Warning" : "Normal",
        reason: isLanded ? "NetworkAwarePlan" : "NetworkAwarePlanOverruled",
        action: "Planning",
        note: isLanded
          ? `on ${flight.node}, as planned with the other pods of ${flight.workflow}`
          : `planned to ${flight.node}, ${node === null ? "bound to no node" : `but on ${node}`}: ${reason}`,
      },
    );
  }

  #conclude(id: string, result: string, node: string | null, reason: string | null): void {
    const { decisions, clock } = this.#options;
    decisions.conclude(id, { at: new Date(clock.now()).toISOString(), result, node, reason });
  }
}

/** Computing peers takes time proportional to the pods. */
const MAX_PODS_WITH_PEERS = 500;

function peersWithin(
  placed: readonly ReportedPod[],
  cluster: ClusterGraph,
  workflow: WorkflowGraph,
): (pod: GatedPod, workload: string | null, candidates: Decision["candidates"]) => PeerCosts | null {
  if (placed.length > MAX_PODS_WITH_PEERS) return () => null;
  const assumed = placed.flatMap(({ pod, workload, node }): AssumedPod[] =>
    workload === null ? [] : [{ workload, name: pod.identity.name, node }],
  );
  return ({ identity: { namespace, name } }, workload, candidates) => {
    const names = candidates.map((candidate) => candidate.name);
    return peerCosts(
      {
        pod: { namespace, name, workload },
        candidates: names,
        cluster: { graph: cluster, ageSeconds: null },
        workflow: { graph: workflow, ageSeconds: null },
        assumed,
      },
      names,
    );
  };
}

/** Cached, because each plan formats a hundred numbers. */
const NUMBERS = new Intl.NumberFormat("en-US");

export function costText(cost: number): string {
  return `${NUMBERS.format(Number(cost.toPrecision(3)))} B/s x ms`;
}

function reasonOf(
  { outcome, message, planned }: { outcome: string; message: string | null; planned: string },
  why: Rejection | null,
): string | null {
  switch (outcome) {
    case "landed":
      return null;
    case "elsewhere":
      return why === null
        ? `kube-scheduler chose otherwise although ${planned} would still be allowed`
        : `${planned} was no longer allowed: ${why.message} (${why.plugin})`;
    case "unschedulable":
      return message ?? "kube-scheduler found no node";
    case "timed_out":
      return "kube-scheduler didn't try the pod in time";
    default:
      return "the pod is gone";
  }
}
