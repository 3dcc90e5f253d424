// Reports moves to the decisions API, as Events on pods, and to the log.
import type { EventRecorder, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import type { ChannelLatency, Halt, Move } from "@isochrone/placement";
import type { Clock, Logger } from "@isochrone/runtime";
import type { Candidate, ClusterGraph, Decision, WorkflowGraph } from "@isochrone/topology";
import { placementOf } from "../adapters/observed-pod.ts";
import type { DecisionLog, LoggedAct } from "../domain/decision-log.ts";
import { graphAgeSeconds } from "../domain/graph-age.ts";
import type { FailureReason } from "./decision/metrics.ts";
import { scoresOf } from "./decision/paper-decision.ts";
import { RESUME_ANNOTATION } from "./memory-annotation.ts";
import type { DoneMove, StartedMove } from "./started-moves.ts";

interface BegunMove extends Move {
  readonly workload: string;
  readonly isReleased: boolean;
  /** First decision of the act; null if this one begins it. */
  readonly act: string | null;
  readonly before: ChannelLatency | null;
  readonly expected: ChannelLatency | null;
}

interface MoveReportsOptions {
  readonly decisions: DecisionLog;
  readonly events: EventRecorder | null;
  readonly newId: () => string;
  /** The planner's Lease; Events about stops refer to it. */
  readonly lease: ObjectRef & { readonly namespace: string };
  readonly mode: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class MoveReports {
  readonly #options: MoveReportsOptions;

  constructor(options: MoveReportsOptions) {
    this.#options = options;
  }

  begun(
    pod: KubernetesObject,
    move: BegunMove,
    graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph },
    nowMs: number,
  ): string {
    const { decisions, newId, events, logger, mode } = this.#options;
    const id = newId();
    const { workflow, workload, isReleased, from, to, worth } = move;
    const { namespace, name, uid } = move.pod;
    const explanation = sentences(move);
    const promise = promiseOf(move, id);
    const made: LoggedAct = {
      id,
      kind: "eviction",
      pod: { namespace, name, uid },
      show: () => ({
        at: new Date(nowMs).toISOString(),
        workflow,
        workload,
        strategy: worth.kind === "cost" ? "descheduler" : worth.strategy,
        mode: worth.kind === "cost" ? mode : worth.mode,
        inputs: {
          clusterVersion: graphs.cluster.version,
          clusterAgeSeconds: graphAgeSeconds(graphs.cluster, nowMs),
          workflowVersion: graphs.workflow.version,
          workflowAgeSeconds: graphAgeSeconds(graphs.workflow, nowMs),
        },
        explanation,
        best: to,
        candidates: candidatesOf(move),
        ...(promise === null ? {} : { act: promise }),
      }),
    };
    const scheduled = placementOf(pod);
    decisions.add(made, { state: "bound", node: from, atMs: scheduled?.sinceMs ?? null });
    events?.event(pod, {
      type: "Normal",
      reason: "NetworkAwareMove",
      action: isReleased ? "Replacing" : "Evicting",
      note: `${beginningOf(move)} ${explanation.join(" ")}`,
    });
    const gain = worth.kind === "cost" ? { gain: worth.gain, groupSize: worth.pods } : {};
    logger.info(isReleased ? "pod is being replaced" : "pod evicted", {
      namespace,
      pod: name,
      from,
      to,
      ...gain,
    });
    return id;
  }

  refused(pod: KubernetesObject, reason: FailureReason, detail: string): void {
    const { namespace, name } = pod.metadata;
    this.#options.logger.info("pod stays: its eviction failed", {
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
      elsewhere: "its replacement runs on another node than the target",
      withdrawn: "no replacement became ready on the target in time, and it stays where it was",
      lost: "no replacement became ready by the deadline",
    } as const;
    decisions.conclude(id, {
      at: new Date(nowMs).toISOString(),
      result: outcome,
      node,
      reason: reasons[outcome],
    });
    if (outcome === "on_target") return logger.info("pod moved", { namespace, pod, from, to });
    logger.warn("a move failed", { namespace, pod, from, to, node, outcome });
    this.#options.events?.event(owner, {
      type: "Warning",
      reason: "NetworkAwareMoveMissed",
      action: "Moving",
      note: `${pod} was to be moved from ${from} to ${to}, but ${reasons[outcome]}${node === null ? "" : ` (${node})`}.`,
    });
  }

  measured({ id }: StartedMove, afterMs: number): void {
    this.#options.decisions.measured(id, afterMs);
  }

  stopped({ reason, detail }: Halt): void {
    const { logger, events, lease } = this.#options;
    const resume = `To resume at once: kubectl -n ${lease.namespace} annotate lease ${lease.name} ${RESUME_ANNOTATION}=true`;
    logger.warn("the descheduler stops itself", { reason, detail, resume });
    events?.event(lease, {
      type: "Warning",
      reason: "NetworkAwareMovesStopped",
      action: "Stopping",
      note: `No pod is moved: ${detail}. ${resume}`,
    });
  }
}

/** Returns null in mode `paper`, which promises no latency. */
function promiseOf(
  { worth, act, before, expected }: BegunMove,
  id: string,
): NonNullable<Decision["act"]> | null {
  if (worth.kind === "score") return null;
  const { gain, cost, pods } = worth;
  return {
    id: act ?? id,
    pods,
    gainRatio: cost > 0 ? gain / cost : 0,
    beforeMs: before?.ms ?? null,
    expectedMs: pods > 1 ? null : (expected?.ms ?? null),
    bytesPerSecond: before?.bytesPerSecond ?? null,
  };
}

function beginningOf({ from, to, worth, isReleased }: BegunMove): string {
  if (isReleased) return `Stays on ${from} until its replacement is ready on ${to}.`;
  return worth.kind === "cost"
    ? `Evicted from ${from}; its replacement is to go to ${to}.`
    : `Evicted from ${from}; kube-scheduler places its replacement, and the best node is ${to}.`;
}

/** A group's figures aren't split by pod: one pod's share has no meaning. */
function sentences({ from, to, worth, together, isPart }: Move): string[] {
  if (worth.kind === "score") {
    const words = scoresOf(worth.move, { name: worth.strategy, mode: worth.mode });
    return [`${words.charAt(0).toUpperCase()}${words.slice(1)}.`];
  }
  const { gain, cost, pods } = worth;
  const share = cost > 0 ? ` (${Math.round((gain / cost) * 100)} %)` : "";
  const less = `${thousands(gain)} less${share}`;
  if (isPart)
    return [
      `It is one of ${pods} pods of a larger move, whose channels cost ${thousands(cost)} kB/s x ms before it and ${thousands(cost - gain)} after it: ${less}.`,
    ];
  const whose =
    together.length === 0 ? "Its channels" : `Its channels, with those of ${together.join(", ")},`;
  return [
    `${whose} cost ${thousands(cost)} kB/s x ms on ${from} and ${thousands(cost - gain)} on ${to}: ${less}.`,
  ];
}

function thousands(value: number): string {
  return (value / 1_000).toFixed(1);
}

function candidatesOf({ from, to, worth }: Move): Candidate[] {
  if (worth.kind === "cost")
    return [candidate(to, worth.gain - worth.cost, 100), candidate(from, -worth.cost, 0)];
  const { move } = worth;
  return [move.to, move.from].map(({ node: name, score, raw }) => {
    return { name, feasible: true, reason: null, raw, score, parts: {} };
  });
}

function candidate(name: string, network: number, score: number): Candidate {
  return { name, feasible: true, reason: null, raw: network, score, parts: { network } };
}
