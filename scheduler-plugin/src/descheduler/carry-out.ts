// Begins the moves of a run in order and records each. Ends a larger move when one of its pods is refused.
import { channelLatency } from "@isochrone/placement";
import type { DescheduleDecision, Move } from "@isochrone/placement";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { BackOff } from "./back-off.ts";
import type { Evictor } from "./evictor.ts";
import type { LeftNodes } from "./decision/left-nodes.ts";
import type { DeschedulerMetrics, FailureReason } from "./decision/metrics.ts";
import { progressOf } from "./move-progress.ts";
import type { MoveProgress } from "./move-progress.ts";
import type { MoveReports } from "./move-reports.ts";
import type { DeschedulerConfig } from "./decision/settings.ts";
import type { MoveWorth, StartedMove, StartedMoves } from "./started-moves.ts";
import type { Survey } from "./decision/survey.ts";

export interface Graphs {
  readonly cluster: ClusterGraph;
  readonly workflow: (namespace: string, name: string) => WorkflowGraph | null;
}

interface CarryOutOptions {
  readonly config: DeschedulerConfig;
  readonly bytesPerRequest: number;
  readonly evictor: Evictor;
  readonly moves: StartedMoves;
  readonly backOff: BackOff;
  readonly left: LeftNodes;
  readonly reports: MoveReports;
  readonly metrics: DeschedulerMetrics;
  readonly onMove?: ((progress: MoveProgress) => void) | undefined;
}

interface RunInputs {
  readonly found: Survey;
  readonly graphs: Graphs;
  readonly nowMs: number;
}

type MoveBegin = { readonly failure: FailureReason } | { readonly failure: null; readonly id: string };

export class CarryOut {
  readonly #options: CarryOutOptions;
  /** First decision of each larger move, by workflow. A new leader continues a larger move as a new act. */
  readonly #acts = new Map<string, string>();

  constructor(options: CarryOutOptions) {
    this.#options = options;
  }

  /**
   * Stops a group, or this run's part of a larger move, at the first refused pod.
   * @returns workflows with a refused eviction: their moves have failed
   */
  async run(
    { moves, memory }: Pick<DescheduleDecision, "moves" | "memory">,
    ground: RunInputs,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const over = new Set<string>();
    const stopped = new Set<string>();
    for (const workflow of this.#acts.keys())
      if (!memory.campaigns.has(workflow)) this.#acts.delete(workflow);
    for (let index = 0; index < moves.length;) {
      if (signal.aborted) break;
      const { workflow, isPart, together } = moves[index]!;
      const group = moves.slice(index, index + together.length + 1);
      index += group.length;
      if (isPart && stopped.has(workflow)) continue;
      const failure = await this.#group(group, ground);
      if (failure === null) continue;
      if (isPart) stopped.add(workflow);
      if (failure !== "changed") over.add(workflow);
    }
    this.#options.metrics.inFlight.set(this.#options.moves.waiting.length);
    return over;
  }

  /** @returns why a pod stays; null if all are moved */
  async #group(moves: readonly Move[], ground: RunInputs): Promise<FailureReason | null> {
    let act: string | null = null;
    for (const move of moves) {
      const { workflow, isPart } = move;
      const begun: MoveBegin = await this.#move(
        move,
        isPart ? (this.#acts.get(workflow) ?? null) : act,
        ground,
      );
      if (begun.failure !== null) return begun.failure;
      act ??= begun.id;
      if (isPart && !this.#acts.has(workflow)) this.#acts.set(workflow, begun.id);
    }
    return null;
  }

  async #move(
    move: Move,
    act: string | null,
    { found, graphs: { cluster, workflow }, nowMs }: RunInputs,
  ): Promise<MoveBegin> {
    const { config, bytesPerRequest, evictor, reports, metrics } = this.#options;
    const { object, identity, workload, canSurge } = found.pods.get(move.pod.uid)!;
    const { namespace, name, uid } = move.pod;
    const { from, to } = move;
    const deadlineMs = nowMs + config.moveDeadlineMs;
    const isPlanned = move.worth.kind === "cost";
    const release =
      isPlanned && canSurge ? { before: move.pod.replicaNodes.filter((node) => node === to).length } : null;
    const result = await evictor.begin({
      namespace,
      pod: name,
      uid,
      from,
      // The paper's descheduler leaves the choice of node to the scheduler.
      to: isPlanned ? to : null,
      nowMs,
      deadlineMs,
      coolDownMs: config.coolDownMs,
      release,
    });
    if (!result.begun) {
      this.#refused(move, found, result.reason, result.detail, nowMs);
      return { failure: result.reason };
    }
    const { owner, coolDownMs } = result;
    const graph = workflow(namespace, identity.workflow)!;
    const channels = (node: string) =>
      channelLatency({ namespace, name, workload }, node, { cluster, workflow: graph }, bytesPerRequest);
    const isReleased = release !== null;
    const [before, expected] = [channels(from), channels(to)];
    const begun = { ...move, workload, isReleased, act, before, expected };
    const id = reports.begun(object, begun, { cluster, workflow: graph }, nowMs);
    if (!isReleased) metrics.evictions.inc();
    this.#options.backOff.accepted(owner.uid);
    this.#options.left.add({
      owner: move.pod.owner,
      workflow: move.workflow,
      node: from,
      atMs: nowMs,
    });
    const started: StartedMove = {
      id,
      owner,
      namespace,
      pod: name,
      podUid: uid,
      workflow: identity.workflow,
      workload,
      from,
      to,
      atMs: nowMs,
      deadlineMs,
      coolDownMs,
      // The replacement may already exist, so compare with the pods before the eviction.
      siblings: found.uids,
      before,
      expected,
      worth: worthOf(move),
      ...(release === null ? {} : { release }),
    };
    this.#options.moves.begin(started);
    this.#options.onMove?.(progressOf(started, isReleased ? "replacing" : "evicted"));
    return { failure: null, id };
  }

  #refused({ pod }: Move, found: Survey, reason: FailureReason, detail: string, nowMs: number): void {
    const { object } = found.pods.get(pod.uid)!;
    this.#options.metrics.failures.inc({ reason });
    this.#options.reports.refused(object, reason, detail);
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (reason !== "changed" && owner !== undefined) this.#options.backOff.refused(owner.uid, nowMs);
  }
}

function worthOf({ worth }: Move): MoveWorth | null {
  if (worth.kind === "score") return null;
  const { gain, cost, pods } = worth;
  return { gainRatio: cost > 0 ? gain / cost : 0, pods };
}
