// The extender's decisions: which nodes pass, and how they rank.
import { graphAgeSeconds } from "./graph-age.ts";
import { TokenBucket } from "@isochrone/primitives";
import { ColumnPool, keptRows, peerCosts, rank, rejectedNodes, replicasOn } from "@isochrone/placement";
import type { Explanation, GraphInput, PlacementProblem, ScoreTable, Strategy } from "@isochrone/placement";
import { STALE_AFTER_WINDOWS } from "@isochrone/topology";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";
import type { DecisionRecorder, Standing } from "./decision-recorder.ts";
import type { ExtenderArgs } from "./extender-wire.ts";
import { equalPriorities, HostPriorities, onlyPriority } from "./host-priorities.ts";
import type { Ledger } from "./ledger.ts";
import { identifyPod, plannedNodeOf } from "./pod.ts";
import type { PodIdentity } from "./pod.ts";

/** `not_ours`: in no known workflow; all nodes equal. `neutral`: ours, but no usable data. */
export type Outcome = "scored" | "neutral" | "not_ours";

export interface Times {
  /** Wall clock. */
  readonly nowMs: number;
  readonly monotonicMs: number;
}

interface FilterResult {
  readonly outcome: Outcome;
  readonly failed: ReadonlyMap<string, string>;
}

interface PrioritizeResult {
  readonly outcome: Outcome;
  readonly answer: string | Uint8Array;
}

/** Age limit while the window length is unknown: three windows of 5 minutes. */
const DEFAULT_MAX_AGE_SECONDS = STALE_AFTER_WINDOWS * 300;

interface PlacerParts {
  readonly graphs: GraphSource;
  readonly strategy: Strategy;
  /** Reject nodes without measured headroom. @default false */
  readonly usageHeadroom?: boolean;
  readonly ledger: Ledger;
  readonly recorder: DecisionRecorder;
  readonly newId: () => string;
  readonly onDecision?: (explanation: Explanation) => void;
}

interface Ours {
  readonly graph: WorkflowGraph | null;
  readonly workload: string | null;
}

export class Placer {
  readonly #parts: PlacerParts;
  readonly #pool = new ColumnPool();
  #priorities: HostPriorities | null = null;

  readonly #peersKept = new TokenBucket(PEERS_KEPT, Number.NEGATIVE_INFINITY);

  constructor(parts: PlacerParts) {
    this.#parts = parts;
  }

  /**
   * Rejects nodes by declared channels, the strategy's filter, and headroom by measured usage.
   * kube-scheduler's own filters cover readiness and requests.
   */
  filter(args: ExtenderArgs, times: Times): FilterResult {
    const pod = identifyPod(args.pod);
    const ours = this.#find(pod);
    if (ours === null) return { outcome: "not_ours", failed: new Map() };
    return this.#asked(pod, times, (standing) => {
      const problem = this.#problem(pod, ours, args.nodeNames, times);
      const { strategy, usageHeadroom = false } = this.#parts;
      const failed = rejectedNodes(strategy, problem, { usageHeadroom });
      // With one node left kube-scheduler doesn't ask for priorities: this is the decision.
      if (args.nodeNames.length - failed.size === 1)
        this.#decide(pod, { ...problem, infeasible: failed }, times, standing, null);
      return { outcome: isBlind(problem) ? "neutral" : "scored", failed };
    });
  }

  prioritize(args: ExtenderArgs, times: Times): PrioritizeResult {
    const pod = identifyPod(args.pod);
    const ours = this.#find(pod);
    if (ours === null) return { outcome: "not_ours", answer: equalPriorities(args.nodeNames) };
    return this.#asked(pod, times, (standing) => {
      const problem = this.#problem(pod, ours, args.nodeNames, times);
      // A plan considers all pods of a workflow together; scores per pod must not undo it.
      const planned = candidateOf(problem, plannedNodeOf(args.pod));
      const table = this.#decide(pod, problem, times, standing, planned);
      if (planned !== null) return { outcome: "scored", answer: onlyPriority(planned) };
      const graph = problem.cluster.graph;
      if (graph === null) return { outcome: "neutral", answer: equalPriorities(args.nodeNames) };
      if (this.#priorities?.graph !== graph) this.#priorities = new HostPriorities(graph);
      const answer = this.#priorities.answer(args.nodeNames, table.ids, table.score);
      return { outcome: "scored", answer };
    });
  }

  #find(pod: PodIdentity): Ours | null {
    const { graphs } = this.#parts;
    const found = graphs.workflow(pod.namespace, pod.workflow);
    const workload = workloadIn(found, pod);
    if (workload === null && (!pod.labelled || graphs.ready())) return null;
    return { graph: found, workload: workload ?? pod.workloads[0] ?? null };
  }

  /**
   * Answers with an up-to-date ledger, without a pending pod's own entry. A question about a pod that isn't
   * pending changes nothing.
   */
  #asked<T>(pod: PodIdentity, { monotonicMs }: Times, answer: (standing: Standing) => T): T {
    const { graphs, ledger, recorder } = this.#parts;
    ledger.expire(monotonicMs);
    ledger.settle((namespace, workflow) => graphs.workflow(namespace, workflow));
    const standing = recorder.standingOf(pod);
    if (standing.kind !== "pending") return answer(standing);
    return ledger.forget(pod.namespace, pod.name, () => answer(standing));
  }

  #problem(
    pod: PodIdentity,
    { graph, workload }: Ours,
    candidates: readonly string[],
    { nowMs }: Times,
  ): PlacementProblem {
    const { graphs, ledger } = this.#parts;
    const known = { cluster: graphs.cluster(), workflow: graph, ledger };
    return problemOf(pod, workload, candidates, known, nowMs);
  }

  /** Returned columns are valid until the next decision. */
  #decide(
    pod: PodIdentity,
    problem: PlacementProblem,
    times: Times,
    standing: Standing,
    planned: string | null,
  ): ScoreTable {
    const { strategy, recorder, newId } = this.#parts;
    const table = strategy.score(problem, this.#pool);
    const { explanation } = table;
    const { workload } = problem.pod;
    const candidates = keptRows(table);
    // Decisions for pods that already have a node aren't recorded.
    const isKept = standing.kind !== "settled";
    const hasPeers = isKept && this.#peersKept.take(times.monotonicMs);
    const logged = {
      id: newId(),
      atMs: times.nowMs,
      identity: pod,
      workflow: `${pod.namespace}/${pod.workflow}`,
      workload,
      note: this.#noteOf(isKept && !hasPeers, planned),
      candidates,
      asked: problem.candidates.length,
      peers: hasPeers ? peerCosts(problem, rankedNames(candidates), MAX_LOOKUPS) : null,
      planned,
      siblingsOnBest: explanation.best === null ? 0 : replicasOn(problem, explanation.best),
    };
    const node = planned ?? (workload === null || isBlind(problem) ? null : explanation.best);
    recorder.decided({ pod, explanation, logged, node, atMs: times.monotonicMs }, standing);
    this.#parts.onDecision?.(explanation);
    return table;
  }

  #noteOf(isWithoutPeers: boolean, planned: string | null): string | null {
    const notes = [
      ...(planned === null
        ? []
        : [`The plan of its workflow puts it on ${planned}: that node alone was preferred.`]),
      this.#parts.graphs.note?.() ?? "",
      ...(isWithoutPeers ? [WITHOUT_PEERS] : []),
    ].filter((note) => note !== "");
    return notes.length === 0 ? null : notes.join(" ");
  }
}

function candidateOf({ candidates }: PlacementProblem, planned: string | null): string | null {
  return planned !== null && candidates.includes(planned) ? planned : null;
}

export function workloadIn(graph: WorkflowGraph | null, { workloads }: PodIdentity): string | null {
  return graph === null ? null : (workloads.find((name) => graph.workload(name) !== undefined) ?? null);
}

interface Known {
  readonly cluster: ClusterGraph | null;
  readonly workflow: WorkflowGraph | null;
  readonly ledger: Pick<Ledger, "assumed" | "assumedUse">;
}

export function problemOf(
  pod: PodIdentity,
  workload: string | null,
  candidates: readonly string[],
  { cluster, workflow, ledger }: Known,
  nowMs: number,
): PlacementProblem {
  const maxAgeSeconds = cluster?.maxAgeSeconds ?? DEFAULT_MAX_AGE_SECONDS;
  return {
    pod: {
      namespace: pod.namespace,
      name: pod.name,
      workload,
      requests: pod.requests,
      cpuLimitMillicores: pod.cpuLimitMillicores ?? null,
    },
    candidates,
    cluster: usable("cluster graph", cluster, nowMs, maxAgeSeconds),
    workflow: usable("workflow graph", workflow, nowMs, maxAgeSeconds),
    assumed: ledger.assumed(pod.namespace, pod.workflow),
    assumedUse: ledger.assumedUse(),
  };
}

/** Peers are stored for this many decisions: they take a third of the answer's time. */
const PEERS_KEPT = { perSecond: 20, burst: 60 };
const WITHOUT_PEERS =
  "Many pods were scored at that moment: whom this one talked to then was not kept, only its scores were.";

/** Bound on network cost look-ups per explanation: a small part of scoring. */
const MAX_LOOKUPS = 256;

function rankedNames(table: ScoreTable): string[] {
  return rank(table).map((row) => table.names[row]!);
}

/** True without a cluster graph: nothing distinguishes nodes. */
function isBlind(problem: PlacementProblem): boolean {
  return problem.cluster.graph === null;
}

function usable<G extends { readonly observedAt: string }>(
  what: string,
  graph: G | null,
  nowMs: number,
  maxAgeSeconds: number,
): GraphInput<G> {
  if (graph === null) return { graph: null, reason: `no ${what} was read yet` };
  const ageSeconds = graphAgeSeconds(graph, nowMs);
  if (ageSeconds <= maxAgeSeconds) return { graph, ageSeconds };
  return {
    graph: null,
    reason: `the ${what} is ${Math.round(ageSeconds)} s old, more than ${maxAgeSeconds} s`,
  };
}
