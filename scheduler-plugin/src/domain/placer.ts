// What the extender decides: which nodes pass, and which are better. Time comes in as arguments, graphs from
// the port.
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

/** `not_ours`: no workflow of ours; all nodes are equal. `neutral`: ours, but nothing usable is known. */
export type Outcome = "scored" | "neutral" | "not_ours";

export interface Times {
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
  readonly monotonicMs: number;
}

interface FilterResult {
  readonly outcome: Outcome;
  readonly failed: ReadonlyMap<string, string>;
}

interface PrioritizeResult {
  readonly outcome: Outcome;
  /** JSON of the HostPriorityList; bytes are UTF-8. */
  readonly answer: string | Uint8Array;
}

/** Age limit while no cluster graph says how long its window is: three windows of 5 minutes. */
const DEFAULT_MAX_AGE_SECONDS = STALE_AFTER_WINDOWS * 300;

interface PlacerParts {
  readonly graphs: GraphSource;
  readonly strategy: Strategy;
  /** Whether nodes without measured headroom are rejected. @default false */
  readonly usageHeadroom?: boolean;
  readonly ledger: Ledger;
  readonly recorder: DecisionRecorder;
  readonly newId: () => string;
  /** After each decision, kept or not, for metrics. */
  readonly onDecision?: (explanation: Explanation) => void;
}

/** A pod of a workflow that is known, or that its label names. */
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
   * Only what channels declare (or the strategy's own filter), and headroom by measured use, reject a node;
   * readiness and requests are kube-scheduler's own filters.
   */
  filter(args: ExtenderArgs, times: Times): FilterResult {
    const pod = identifyPod(args.pod);
    const ours = this.#find(pod);
    if (ours === null) return { outcome: "not_ours", failed: new Map() };
    return this.#asked(pod, times, (standing) => {
      const problem = this.#problem(pod, ours, args.nodeNames, times);
      const { strategy, usageHeadroom = false } = this.#parts;
      const failed = rejectedNodes(strategy, problem, { usageHeadroom });
      // kube-scheduler doesn't ask for priorities when one node is left: this is the decision.
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
      // A plan weighs all pods of a workflow together, which scores pod by pod must not undo.
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

  /**
   * null for a pod that isn't ours: the graphs are fresh and don't know its workload, or no label says that
   * it belongs to a workflow.
   */
  #find(pod: PodIdentity): Ours | null {
    const { graphs } = this.#parts;
    const found = graphs.workflow(pod.namespace, pod.workflow);
    const workload = workloadIn(found, pod);
    if (workload === null && (!pod.labelled || graphs.ready())) return null;
    return { graph: found, workload: workload ?? pod.workloads[0] ?? null };
  }

  /**
   * Answers by a ledger that is up to date. A pending pod isn't held against itself; a question about a pod
   * that the cluster doesn't show as pending changes nothing.
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

  /** The columns of what it returns are good until the next decision. */
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
    // Of a pod that has a node no decision is kept.
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

/** A planned node that kube-scheduler doesn't offer is no longer possible. */
function candidateOf({ candidates }: PlacementProblem, planned: string | null): string | null {
  return planned !== null && candidates.includes(planned) ? planned : null;
}

/** By the first of its possible names that the graph knows; null without any. */
export function workloadIn(graph: WorkflowGraph | null, { workloads }: PodIdentity): string | null {
  return graph === null ? null : (workloads.find((name) => graph.workload(name) !== undefined) ?? null);
}

/** What is known when a pod is to be placed. */
interface Known {
  readonly cluster: ClusterGraph | null;
  readonly workflow: WorkflowGraph | null;
  readonly ledger: Pick<Ledger, "assumed" | "assumedUse">;
}

/** The question that a strategy answers. */
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

/**
 * Of so many decisions peers are kept. They take a third of the answer's time, and of a flood of pods nobody
 * reads each.
 */
const PEERS_KEPT = { perSecond: 20, burst: 60 };
const WITHOUT_PEERS =
  "Many pods were scored at that moment: whom this one talked to then was not kept, only its scores were.";

/** Of network costs, for what a decision tells people: a small part of what scoring takes. */
const MAX_LOOKUPS = 256;

function rankedNames(table: ScoreTable): string[] {
  return rank(table).map((row) => table.names[row]!);
}

/** Without a cluster graph nothing tells nodes apart. */
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
