// Tells of moves: to the decisions API, as Events on pods, and to the log.
import type { EventRecorder, KubernetesObject } from "@isochrone/kubernetes";
import type { Move } from "@isochrone/placement";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { DecisionLog } from "../domain/decision-log.ts";
import { graphAgeSeconds } from "../domain/placer.ts";
import type { FailureReason } from "./metrics.ts";
import type { DoneMove } from "./started-moves.ts";

export interface MoveReportsOptions {
  readonly decisions: DecisionLog;
  readonly events: EventRecorder | null;
  readonly newId: () => string;
  readonly mode: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class MoveReports {
  readonly #options: MoveReportsOptions;

  constructor(options: MoveReportsOptions) {
    this.#options = options;
  }

  /** @returns the decision's id */
  evicted(
    pod: KubernetesObject,
    move: Move,
    workload: string,
    graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
    nowMs: number,
  ): string {
    const { decisions, newId, events, logger, mode } = this.#options;
    const id = newId();
    const { workflow, from, to, gain, cost } = move;
    const { namespace, name } = move.pod;
    const explanation = sentences(move);
    decisions.add({
      id,
      kind: "eviction",
      pod: { namespace, name },
      show: () => ({
        at: new Date(nowMs).toISOString(),
        workflow,
        workload,
        strategy: "descheduler",
        mode,
        inputs: {
          clusterVersion: graphs.cluster.version,
          clusterAgeSeconds: graphAgeSeconds(graphs.cluster, nowMs),
          workflowVersion: graphs.workflow.version,
          workflowAgeSeconds: graphAgeSeconds(graphs.workflow, nowMs),
        },
        explanation,
        best: to,
        candidates: [candidate(to, cost - gain, 100), candidate(from, cost, 0)],
      }),
    });
    events?.event(pod, {
      type: "Normal",
      reason: "NetworkAwareMove",
      action: "Evicting",
      note: `Evicted from ${from}; its replacement is to go to ${to}. ${explanation.join(" ")}`,
    });
    logger.info("pod evicted", { namespace, pod: name, from, to, gain });
    return id;
  }

  refused(pod: KubernetesObject, reason: FailureReason, detail: string): void {
    const { namespace, name } = pod.metadata;
    this.#options.logger.info("pod stays: its eviction wasn't done", {
      namespace,
      pod: name,
      reason,
      detail,
    });
  }

  done({ move, outcome, replacement }: DoneMove, nowMs: number): void {
    const { decisions, logger } = this.#options;
    const { id, namespace, pod, from, to, owner } = move;
    const node = replacement?.node ?? null;
    const reasons = {
      on_target: null,
      elsewhere: "kube-scheduler chose another node than the target",
      lost: "no replacement became ready by the deadline",
    } as const;
    decisions.conclude(id, {
      at: new Date(nowMs).toISOString(),
      result: outcome,
      node,
      reason: reasons[outcome],
    });
    logger.info("pod moved", { namespace, pod, from, to, node, outcome });
    if (outcome === "on_target") return;
    this.#options.events?.event(owner, {
      type: "Warning",
      reason: "NetworkAwareMoveMissed",
      action: "Moving",
      note: `${pod} was moved from ${from} to ${to}, but ${reasons[outcome]}${node === null ? "" : ` (${node})`}.`,
    });
  }
}

function sentences({ from, to, gain, cost, together }: Move): string[] {
  const share = cost > 0 ? ` (${Math.round((gain / cost) * 100)} %)` : "";
  const whose =
    together.length === 0 ? "Its channels" : `Its channels, with those of ${together.join(", ")},`;
  return [
    `${whose} cost ${thousands(cost)} kB/s x ms on ${from} and ${thousands(cost - gain)} on ${to}: ${thousands(gain)} less${share}.`,
  ];
}

function thousands(value: number): string {
  return (value / 1_000).toFixed(1);
}

function candidate(name: string, cost: number, score: number) {
  return { name, feasible: true, reason: null, raw: -cost, score, parts: { network: -cost } };
}
