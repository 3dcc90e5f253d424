// One term of descheduling: runs at an interval while this replica leads. What was moved is followed until its channels were measured again.
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { channelLatency, judged, nextCoolDown, NO_MEMORY, NO_REGRET, regretOf } from "@isochrone/placement";
import type {
  DescheduleDecision,
  DescheduleMemory,
  Halt,
  JudgedMove,
  Move,
  RegretState,
} from "@isochrone/placement";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { graphAgeSeconds } from "../domain/placer.ts";
import type { GraphSource } from "../ports.ts";
import { BackOff } from "./back-off.ts";
import { Closing } from "./closing.ts";
import { Evictor } from "./evictor.ts";
import { KeptMemory } from "./kept-memory.ts";
import { LeftNodes } from "./left-nodes.ts";
import type { MemoryKeeper } from "./memory-annotation.ts";
import type { DeschedulerMetrics, SkipReason } from "./metrics.ts";
import { SKIP_REASONS } from "./metrics.ts";
import { emptyReport, reportedHalt, reportedRow } from "./report.ts";
import type { DeschedulerReport } from "./report.ts";
import type { MoveReports } from "./move-reports.ts";
import { moveRules, runDecision } from "./run-decision.ts";
import type { DeschedulerConfig } from "./settings.ts";
import { StartedMoves, type ReplacedMove } from "./started-moves.ts";
import { survey } from "./survey.ts";
import type { ClusterLists, Survey, SurveyInput } from "./survey.ts";

export interface TermOptions extends Pick<SurveyInput, "spread"> {
  readonly config: DeschedulerConfig;
  readonly store: ClusterStore;
  readonly follower: { readonly isSynced: boolean; lists(): ClusterLists };
  readonly graphs: Pick<GraphSource, "cluster" | "workflow">;
  /** By which it is told, as of now, whether a controller's pods would wait for the planner. */
  readonly gates: (lists: ClusterLists) => (controller: KubernetesObject, namespace: string) => boolean;
  /** Why no replacement would be sent to its target, in words; null while they are. */
  readonly plannerTrouble: () => string | null;
  /** null: what this leader has learnt ends with it. */
  readonly keeper: MemoryKeeper | null;
  readonly bytesPerRequest: number;
  readonly maxCpuUse?: number | undefined;
  readonly reports: MoveReports;
  readonly metrics: DeschedulerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_REPORTED = 2_000;
const MAX_COOL_DOWN_MS = 24 * 3_600_000;
const MAX_JUDGED = 10;
/** A workload goes back to a node that it left after two cool-downs at the earliest, and not within the hour. */
const LEAST_RETURN_MS = 3_600_000;
/** Before an eviction that was refused is tried again. */
const BACK_OFF_MS = 60_000;

interface Graphs {
  readonly cluster: ClusterGraph;
  readonly workflow: (namespace: string, name: string) => WorkflowGraph | null;
}

export class DeschedulerTerm {
  readonly #options: TermOptions;
  readonly #evictor: Evictor;
  readonly #closing: Closing;
  readonly #moves = new StartedMoves();
  readonly #backOff = new BackOff(BACK_OFF_MS);
  readonly #left: LeftNodes;
  readonly #kept: KeptMemory | null;
  #memory: DescheduleMemory = NO_MEMORY;
  #regret: RegretState = NO_REGRET;
  #report: DeschedulerReport;

  constructor(options: TermOptions) {
    this.#options = options;
    this.#evictor = new Evictor(options.store);
    this.#closing = new Closing(options.config);
    this.#left = new LeftNodes(Math.max(2 * options.config.coolDownMs, LEAST_RETURN_MS));
    const { config, keeper, logger } = options;
    // Others evict nobody, or ask nothing of what was.
    this.#kept =
      config.mode === "evict" && keeper !== null ? new KeptMemory(keeper, config.rounds, logger) : null;
    this.#report = emptyReport(config.mode);
  }

  get report(): DeschedulerReport {
    const inFlight = this.#moves.waiting.map(({ namespace, pod: name, from, to, atMs }) => {
      return { namespace, name, from, to, since: iso(atMs) };
    });
    const { stoppedUntilMs, judged: moves } = this.#regret;
    const isStopped = stoppedUntilMs > this.#options.clock.now();
    return {
      ...this.#report,
      inFlight,
      regret: regretOf(moves),
      stoppedUntil: isStopped ? iso(stoppedUntilMs) : null,
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { follower, metrics } = this.#options;
    if (!follower.isSynced) return metrics.runs.inc({ outcome: "unsettled" });
    await this.#recall();
    await this.#run(signal);
    if (signal.aborted) return;
    const [regret, decision, unmeasured] = [this.#regret, this.#memory, this.#moves.unmeasured];
    await this.#kept?.keep({ regret, decision, left: this.#left.notes, unmeasured });
  }

  async #recall(): Promise<void> {
    const memory = (await this.#kept?.recall()) ?? null;
    if (memory === null) return;
    this.#regret = memory.regret;
    this.#memory = memory.decision;
    this.#left.restore(memory.left);
    this.#moves.restore(memory.unmeasured);
    this.#options.metrics.regret.set(regretOf(memory.regret.judged));
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { follower, metrics, clock, config } = this.#options;
    const beganMs = clock.monotonic();
    const nowMs = clock.now();
    const lists = follower.lists();
    await this.#followUp(lists, nowMs);
    const graphs = this.#graphs(nowMs);
    if (graphs === null)
      return this.#closed({ reason: "stale", detail: "there is no fresh cluster graph" }, nowMs);
    await this.#judge(graphs, nowMs);
    const found = this.#survey(lists, graphs, nowMs);
    const decision = await runDecision(config.mode, {
      found,
      cluster: graphs.cluster,
      workflowGraph: graphs.workflow,
      memory: this.#memory,
      closed: this.#halt(nowMs),
      rules: moveRules(this.#options),
      nowMs,
      clock,
    });
    this.#memory = decision.memory;
    metrics.proposed.inc(decision.moves.length);
    if (config.mode !== "dry-run") await this.#carryOut(decision.moves, found, graphs, nowMs, signal);
    const seconds = (clock.monotonic() - beganMs) / 1_000;
    metrics.runSeconds.observe(seconds);
    metrics.runs.inc({ outcome: decision.halt?.reason ?? "done" });
    this.#show(found, decision, nowMs, seconds);
  }

  /** Replacements that are ready, or didn't come. */
  async #followUp(lists: ClusterLists, nowMs: number): Promise<void> {
    const { metrics, reports, logger } = this.#options;
    for (const done of this.#moves.look(lists.pods, nowMs)) {
      const { move, outcome } = done;
      metrics.moves.inc({ outcome });
      reports.done(done, nowMs);
      const lost = outcome === "lost";
      // Whoever is without a replacement is not moved again soon.
      const last = lost
        ? { atMs: move.atMs, coolDownMs: Math.min(move.coolDownMs * 2, MAX_COOL_DOWN_MS) }
        : null;
      await this.#evictor.done(move.owner, move.podUid, nowMs, last).catch((error: unknown) => {
        logger.warn("a move's record can't be removed; it ends by its deadline", { error });
      });
    }
    metrics.inFlight.set(this.#moves.waiting.length);
  }

  /** Channels of replacements, measured again. */
  async #judge(graphs: Graphs, nowMs: number): Promise<void> {
    const { config, metrics, logger } = this.#options;
    const { maxRegret, regretMoves: minJudged, regretPauseMs: pauseMs, coolDownMs } = config;
    for (const replaced of this.#moves.due(nowMs, config.judgeAfterMs)) {
      const { move } = replaced;
      const verdict = this.#judgement(replaced, graphs);
      if (verdict === null) continue;
      this.#moves.measured(move);
      const before = this.#regret.stoppedUntilMs;
      metrics.regret.set(regretOf([...this.#regret.judged, verdict].slice(-MAX_JUDGED)));
      this.#regret = judged(
        this.#regret,
        verdict,
        { maxRegret, minJudged, maxJudged: MAX_JUDGED, pauseMs },
        nowMs,
      );
      if (this.#regret.stoppedUntilMs > before)
        logger.warn("moves didn't gain what they were made for: no pod is moved until then", {
          until: iso(this.#regret.stoppedUntilMs),
        });
      const rests = nextCoolDown(verdict, move.coolDownMs, { coolDownMs, maxCoolDownMs: MAX_COOL_DOWN_MS });
      if (rests !== move.coolDownMs)
        await this.#evictor
          .done(move.owner, move.podUid, nowMs, { atMs: move.atMs, coolDownMs: rests })
          .catch((error: unknown) => logger.warn("a cool-down can't be written", { error }));
    }
    metrics.stopped.set(this.#regret.stoppedUntilMs > nowMs ? 1 : 0);
  }

  #judgement({ move, replacement }: ReplacedMove, { cluster, workflow }: Graphs): JudgedMove | null {
    const { namespace, workload, before, expected, atMs } = move;
    const graph = workflow(namespace, move.workflow);
    if (graph === null || before === null || expected === null) return null;
    const pod = { namespace, name: replacement.name, workload };
    const now = channelLatency(
      pod,
      replacement.node,
      { cluster, workflow: graph },
      this.#options.bytesPerRequest,
    );
    if (now === null) return null;
    const { ms: beforeMs, bytesPerSecond } = before;
    return { atMs, beforeMs, expectedMs: expected.ms, afterMs: now.ms, bytesPerSecond };
  }

  #halt(nowMs: number): Halt | null {
    const { config, plannerTrouble } = this.#options;
    const closed = this.#closing.at(nowMs);
    if (closed !== null) return closed;
    if (config.mode === "paper") return null;
    if (this.#regret.stoppedUntilMs > nowMs)
      return {
        reason: "regret",
        detail: `earlier moves didn't gain what they were made for; stopped until ${iso(this.#regret.stoppedUntilMs)}`,
      };
    const trouble = plannerTrouble();
    return trouble === null ? null : { reason: "planner", detail: trouble };
  }

  #survey(lists: ClusterLists, graphs: Graphs, nowMs: number): Survey {
    const { config, gates, spread } = this.#options;
    return survey({
      lists,
      cluster: graphs.cluster,
      workflowGraph: graphs.workflow,
      isGated: gates(lists),
      inFlight: this.#moves.owners,
      backingOff: this.#backOff.current(nowMs),
      begun: new Set(
        [...this.#memory.campaigns.values()].flatMap(({ moves }) => moves.map(({ uid }) => uid)),
      ),
      // Seed 000's rule knows nothing of it.
      left: config.mode === "paper" ? new Map() : this.#left.current(nowMs),
      rules: config,
      spread,
      nowMs,
    });
  }

  async #carryOut(
    moves: readonly Move[],
    found: Survey,
    graphs: Graphs,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    for (let index = 0; index < moves.length;) {
      if (signal.aborted) return;
      const size = moves[index]!.together.length + 1;
      await this.#carryOutGroup(moves.slice(index, index + size), found, graphs, nowMs);
      index += size;
    }
    this.#options.metrics.inFlight.set(this.#moves.waiting.length);
  }

  /** All or none, as far as budgets can be asked before; after a refusal the rest stays. */
  async #carryOutGroup(moves: readonly Move[], found: Survey, graphs: Graphs, nowMs: number): Promise<void> {
    if (moves.length > 1) {
      const objects = moves.map(({ pod }) => found.pods.get(pod.uid)!.object);
      const refusal = await this.#evictor.refusalOf(objects);
      if (refusal !== null) return moves.forEach((move) => this.#refused(move, found, "pdb", refusal, nowMs));
    }
    for (const move of moves) if (!(await this.#move(move, found, graphs, nowMs))) return;
  }

  async #move(move: Move, found: Survey, { cluster, workflow }: Graphs, nowMs: number): Promise<boolean> {
    const { config, bytesPerRequest, reports, metrics } = this.#options;
    const { object, identity, workload } = found.pods.get(move.pod.uid)!;
    const { namespace, name, uid } = move.pod;
    const { from, to } = move;
    const deadlineMs = nowMs + config.moveDeadlineMs;
    const result = await this.#evictor.evict({
      namespace,
      pod: name,
      uid,
      from,
      to,
      nowMs,
      deadlineMs,
      coolDownMs: config.coolDownMs,
    });
    if (!result.evicted) {
      this.#refused(move, found, result.reason, result.detail, nowMs);
      return false;
    }
    const { owner, coolDownMs } = result;
    const graph = workflow(namespace, identity.workflow)!;
    const channels = (node: string) =>
      channelLatency({ namespace, name, workload }, node, { cluster, workflow: graph }, bytesPerRequest);
    const id = reports.evicted(object, move, workload, { cluster, workflow: graph }, nowMs);
    metrics.evictions.inc();
    this.#backOff.accepted(owner.uid);
    this.#left.add({ owner: move.pod.owner, node: from, atMs: nowMs });
    this.#moves.begin({
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
      // Its replacement may be there already: those of before the eviction count.
      siblings: found.uids,
      before: channels(from),
      expected: channels(to),
    });
    return true;
  }

  #refused(
    { pod }: Move,
    found: Survey,
    reason: Parameters<MoveReports["refused"]>[1],
    detail: string,
    nowMs: number,
  ): void {
    const { object } = found.pods.get(pod.uid)!;
    this.#options.metrics.failures.inc({ reason });
    this.#options.reports.refused(object, reason, detail);
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    // What merely changed may be right in the next run.
    if (reason !== "changed" && owner !== undefined) this.#backOff.refused(owner.uid, nowMs);
  }

  /** null without a fresh one: what was measured long ago moves nobody. */
  #graphs(nowMs: number): Graphs | null {
    const { graphs } = this.#options;
    const cluster = graphs.cluster();
    if (cluster === null) return null;
    const isFresh = (graph: { readonly observedAt: string }): boolean =>
      graphAgeSeconds(graph, nowMs) <= cluster.maxAgeSeconds;
    if (!isFresh(cluster)) return null;
    const workflow = (namespace: string, name: string): WorkflowGraph | null => {
      const graph = graphs.workflow(namespace, name);
      return graph !== null && isFresh(graph) ? graph : null;
    };
    return { cluster, workflow };
  }

  #closed(halt: Halt, nowMs: number): void {
    this.#memory = NO_MEMORY;
    this.#options.metrics.runs.inc({ outcome: halt.reason });
    const { mode } = this.#options.config;
    this.#report = { ...emptyReport(mode), lastRunAt: iso(nowMs), runSeconds: 0, halt: reportedHalt(halt) };
  }

  #show(found: Survey, decision: DescheduleDecision, nowMs: number, seconds: number): void {
    const { metrics, config } = this.#options;
    const skipped = new Map<SkipReason, number>();
    const count = (reason: SkipReason): unknown => skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
    for (const { reason } of found.skipped) count(reason);
    for (const { decision: what } of decision.rows) if (what !== "move") count(what);
    metrics.considered.set(found.pods.size);
    for (const reason of SKIP_REASONS) metrics.skipped.set({ reason }, skipped.get(reason) ?? 0);
    const stay = found.skipped.map(({ workflow, namespace, pod: name, node, reason, detail }) => {
      return {
        workflow,
        namespace,
        name,
        node,
        target: null,
        cost: null,
        gain: null,
        rounds: 0,
        decision: reason,
        detail,
      };
    });
    this.#report = {
      ...emptyReport(config.mode),
      lastRunAt: iso(nowMs),
      runSeconds: seconds,
      halt: reportedHalt(decision.halt),
      pods: [...decision.rows.map(reportedRow), ...stay].slice(0, MAX_REPORTED),
      skipped: Object.fromEntries(skipped),
    };
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
