// One leadership term of descheduling: runs at an interval, and follows moved pods until their channels were
// measured again.
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { isEffective, nextCoolDown, NO_MEMORY } from "@isochrone/placement";
import type {
  DescheduleDecision,
  DescheduleMemory,
  DisruptionBudget,
  FailedMove,
  Halt,
} from "@isochrone/placement";
import type { Clock, Logger } from "@isochrone/runtime";
import type { GraphSource } from "../ports/ports.ts";
import { BackOff } from "./back-off.ts";
import { CarryOut } from "./carry-out.ts";
import type { Graphs } from "./carry-out.ts";
import { Closing } from "./closing.ts";
import { readBudgets } from "./decision/disruption-budgets.ts";
import { Evictor } from "./evictor.ts";
import { KeptMemory } from "./kept-memory.ts";
import { leastReturnMs, LeftNodes } from "./decision/left-nodes.ts";
import type { MemoryKeeper } from "./memory-annotation.ts";
import type { DeschedulerMetrics, SkipReason } from "./decision/metrics.ts";
import { SKIP_REASONS } from "./decision/metrics.ts";
import { emptyReport, reportedHalt, reportedRow } from "./report.ts";
import type { DeschedulerReport } from "./report.ts";
import { freshGraphs } from "./fresh-graphs.ts";
import { judgementOf, settledPods } from "./measuring.ts";
import { progressOf } from "./move-progress.ts";
import type { MoveProgress } from "./move-progress.ts";
import type { MoveReports } from "./move-reports.ts";
import type { Scoring } from "./decision/paper-decision.ts";
import { moveRules, runDecision, type CostOptions } from "./decision/run-decision.ts";
import type { DeschedulerConfig } from "./decision/settings.ts";
import { failureOf, stageOf, withOwnSiblings, workflowOf } from "./failures.ts";
import { ReleasedPods } from "./released-pods.ts";
import { ClockSteps } from "./decision/clock-steps.ts";
import { notAhead } from "./term-memory.ts";
import { StartedMoves, type DoneMove } from "./started-moves.ts";
import { pricesOf } from "../planner/graphs.ts";
import { survey } from "./decision/survey.ts";
import { SettledPods } from "./decision/settled-pods.ts";
import type { ClusterLists, Survey, SurveyInput } from "./decision/survey.ts";
import { Verdicts } from "./verdicts.ts";

interface TermOptions extends Pick<SurveyInput, "spread"> {
  readonly config: DeschedulerConfig;
  readonly store: ClusterStore;
  readonly follower: { readonly isSynced: boolean; lists(): ClusterLists };
  readonly graphs: Pick<GraphSource, "cluster" | "prices" | "workflow">;
  readonly gates: (lists: ClusterLists) => (controller: KubernetesObject, namespace: string) => boolean;
  readonly plannerTrouble: () => string | null;
  readonly keeper: MemoryKeeper | null;
  readonly bytesPerRequest: number;
  readonly scoring: Scoring;
  readonly cost?: CostOptions | undefined;
  readonly reports: MoveReports;
  readonly metrics: DeschedulerMetrics;
  readonly onMove?: ((progress: MoveProgress) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_REPORTED = 2_000;
const MAX_COOL_DOWN_MS = 24 * 3_600_000;
const BACK_OFF_MS = 60_000;

export class DeschedulerTerm {
  readonly #options: TermOptions;
  readonly #evictor: Evictor;
  readonly #closing: Closing;
  readonly #moves = new StartedMoves();
  readonly #released: ReleasedPods;
  readonly #clockSteps: ClockSteps;
  readonly #backOff = new BackOff(BACK_OFF_MS);
  readonly #left: LeftNodes;
  readonly #settled = new SettledPods();
  readonly #kept: KeptMemory | null;
  readonly #carryOut: CarryOut;
  readonly #verdicts: Verdicts;
  #memory: DescheduleMemory = NO_MEMORY;
  #isFollowing = false;
  #report: DeschedulerReport;

  constructor(options: TermOptions) {
    this.#options = options;
    this.#clockSteps = new ClockSteps(options.clock);
    this.#evictor = new Evictor(options.store);
    this.#released = new ReleasedPods({ ...options, moves: this.#moves });
    this.#closing = new Closing(options.config);
    this.#left = new LeftNodes(leastReturnMs(options.config.coolDownMs));
    const { config, keeper, logger, reports } = options;
    this.#verdicts = new Verdicts({ ...options, onStop: (halt) => reports.stopped(halt) });
    // Other modes evict nothing or use no memory.
    this.#kept =
      config.mode === "evict" && keeper !== null ? new KeptMemory(keeper, config.rounds, logger) : null;
    this.#carryOut = new CarryOut({
      ...options,
      evictor: this.#evictor,
      moves: this.#moves,
      backOff: this.#backOff,
      left: this.#left,
    });
    this.#report = emptyReport(config.mode);
  }

  isMoving(controllerUid: string): boolean {
    return (
      this.#moves.owners.has(controllerUid) ||
      this.#evictor.isMoving(controllerUid, this.#options.clock.now())
    );
  }

  get report(): DeschedulerReport {
    const inFlight = this.#moves.waiting.map(({ namespace, pod: name, from, to, atMs }) => {
      return { namespace, name, from, to, since: iso(atMs) };
    });
    const nowMs = this.#options.clock.now();
    const isStopped = this.#verdicts.isStopped(nowMs);
    return {
      ...this.#report,
      inFlight,
      regret: this.#verdicts.regret,
      stoppedUntil: isStopped ? iso(this.#verdicts.state.stoppedUntilMs) : null,
      stoppedBy: this.#verdicts.halt(nowMs)?.detail ?? null,
    };
  }

  /** Keeps the ages of memories across clock steps. */
  #followClock(): void {
    const stepMs = this.#clockSteps.take();
    if (stepMs === 0) return;
    const pods = [this.#left, this.#settled, this.#backOff];
    for (const kept of [...pods, this.#moves, this.#verdicts, this.#evictor]) kept.shift(stepMs);
  }

  async follow(): Promise<void> {
    const { follower, clock } = this.#options;
    this.#followClock();
    if (follower.isSynced) await this.#followUp(follower.lists(), clock.now());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { follower, metrics } = this.#options;
    if (!follower.isSynced) return metrics.runs.inc({ outcome: "unsettled" });
    this.#followClock();
    await this.#recall();
    await this.#run(signal);
    this.#verdicts.settle((workflow) => this.#isUnderWay(workflow), this.#options.clock.now());
    if (signal.aborted) return;
    const { state: regret, open } = this.#verdicts;
    const { waiting, unmeasured } = this.#moves;
    await this.#kept?.keep({
      regret,
      open,
      decision: this.#memory,
      left: this.#left.notes,
      settled: this.#settled.notes,
      waiting: withOwnSiblings(waiting, follower.lists().pods),
      unmeasured,
    });
  }

  #isUnderWay(workflow: string): boolean {
    return (
      this.#memory.campaigns.has(workflow) ||
      this.#moves.waiting.some((move) => workflowOf(move) === workflow)
    );
  }

  async #recall(): Promise<void> {
    const { keeper, clock } = this.#options;
    const recalled = (await this.#kept?.recall()) ?? null;
    if (recalled !== null) {
      const memory = notAhead(recalled, clock.now());
      this.#verdicts.restore(memory.regret, memory.open, clock.now());
      this.#memory = memory.decision;
      this.#left.restore(memory.left);
      this.#settled.restore(memory.settled);
      this.#moves.resume(memory.waiting);
      this.#moves.restore(memory.unmeasured);
    }
    if (this.#verdicts.isStopped(clock.now()) && (await keeper?.takeResume()) === true)
      this.#verdicts.resume();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { follower, metrics, clock, config } = this.#options;
    const beganMs = clock.monotonic();
    const nowMs = clock.now();
    const lists = follower.lists();
    await this.#followUp(lists, nowMs);
    const graphs = freshGraphs(this.#options.graphs, nowMs);
    if (graphs === null)
      return this.#closed({ reason: "stale", detail: "there is no fresh cluster graph" }, nowMs);
    await this.#judge(graphs, nowMs);
    const found = this.#survey(lists, graphs, nowMs);
    const decision = await runDecision(config, {
      found,
      cluster: graphs.cluster,
      workflowGraph: graphs.workflow,
      scoring: this.#options.scoring,
      memory: this.#memory,
      disruptionBudgets: await this.#budgets(found),
      recent: this.#left.lastHour(nowMs),
      closed: this.#halt(nowMs),
      rules: moveRules(this.#options),
      nowMs,
      clock,
    });
    this.#memory = decision.memory;
    metrics.proposed.inc(decision.moves.length);
    if (config.mode !== "dry-run") {
      const refused = await this.#carryOut.run(decision, { found, graphs, nowMs }, signal);
      for (const move of this.#moves.waiting) this.#verdicts.begun(workflowOf(move));
      for (const workflow of refused)
        this.#failed({ atMs: nowMs, workflow, failure: `an eviction in ${workflow} was refused` }, nowMs);
    }
    const seconds = (clock.monotonic() - beganMs) / 1_000;
    metrics.runSeconds.observe(seconds);
    metrics.runs.inc({ outcome: decision.halt?.reason ?? "done" });
    this.#show(found, decision, nowMs, seconds);
  }

  /** Advances released pods, then ends moves whose replacement is ready or late. */
  async #followUp(lists: ClusterLists, nowMs: number): Promise<void> {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    try {
      await this.#released.advanceAll(lists, nowMs);
      for (const done of this.#moves.look(lists.pods, nowMs)) await this.#ended(done, nowMs);
    } finally {
      this.#isFollowing = false;
    }
    this.#options.metrics.inFlight.set(this.#moves.waiting.length);
  }

  async #ended(done: DoneMove, nowMs: number): Promise<void> {
    const { metrics, reports, logger } = this.#options;
    const { move, outcome } = done;
    metrics.moves.inc({ outcome });
    reports.done(done, nowMs);
    this.#options.onMove?.(progressOf(move, stageOf(outcome), done.replacement));
    const hasFailed = this.#isFailure(done);
    if (hasFailed)
      this.#failed({ atMs: move.atMs, workflow: workflowOf(move), failure: failureOf(done) }, nowMs);
    // A workload whose move failed rests twice as long.
    const last = hasFailed
      ? { atMs: move.atMs, coolDownMs: Math.min(move.coolDownMs * 2, MAX_COOL_DOWN_MS) }
      : null;
    await this.#evictor.done(move.owner, move.podUid, nowMs, last).catch((error: unknown) => {
      logger.warn("a move's record can't be removed; it ends by its deadline", { error });
    });
  }

  /** In mode `paper` kube-scheduler chooses the node, so any node is right. */
  #isFailure({ outcome }: DoneMove): boolean {
    return outcome !== "on_target" && (this.#options.config.mode !== "paper" || outcome === "lost");
  }

  /** Cancels the rest of the proposal. It must pay off in as many runs as a new one. */
  #failed(move: FailedMove, nowMs: number): void {
    this.#verdicts.failed(move, nowMs);
    const { campaigns, streaks } = this.#memory;
    this.#memory = {
      campaigns: new Map([...campaigns].filter(([workflow]) => workflow !== move.workflow)),
      streaks: new Map([...streaks].filter(([, { workflow }]) => workflow !== move.workflow)),
    };
  }

  async #judge(graphs: Graphs, nowMs: number): Promise<void> {
    const { config, logger } = this.#options;
    const { coolDownMs, mode } = config;
    for (const replaced of this.#moves.due(nowMs, config.judgeAfterMs)) {
      const { move } = replaced;
      const verdict = judgementOf(replaced, graphs, this.#options.bytesPerRequest);
      if (verdict === null) continue;
      this.#moves.measured(move);
      this.#options.reports.measured(move, verdict.afterMs);
      this.#options.onMove?.(progressOf(move, "measured", replaced.replacement, verdict.afterMs));
      if (mode !== "paper" && replaced.replacement.node !== move.to) continue;
      this.#verdicts.measured(verdict, nowMs);
      if (isEffective(verdict))
        this.#settled.add({
          pod: `${move.namespace}/${replaced.replacement.name}`,
          atMs: nowMs,
          afterMs: verdict.afterMs,
        });
      if (mode === "paper") continue;
      const rests = nextCoolDown(verdict, move.coolDownMs, { coolDownMs, maxCoolDownMs: MAX_COOL_DOWN_MS });
      if (rests !== move.coolDownMs)
        await this.#evictor
          .done(move.owner, move.podUid, nowMs, { atMs: move.atMs, coolDownMs: rests })
          .catch((error: unknown) => logger.warn("a cool-down can't be written", { error }));
    }
  }

  #halt(nowMs: number): Halt | null {
    const { config, plannerTrouble } = this.#options;
    const closed = this.#closing.at(nowMs);
    if (closed !== null) return closed;
    if (config.mode === "paper") return null;
    const stopped = this.#verdicts.halt(nowMs);
    if (stopped !== null) return stopped;
    const trouble = plannerTrouble();
    return trouble === null ? null : { reason: "planner", detail: trouble };
  }

  /** The paper checks no budgets beforehand. */
  async #budgets(found: Survey): Promise<readonly DisruptionBudget[]> {
    const { config, store, logger } = this.#options;
    if (config.mode === "paper") return [];
    const budgets = await readBudgets(store, found);
    if (budgets === null)
      logger.warnOnce("descheduler:budgets", "PodDisruptionBudgets can't be read before pods are moved");
    return budgets ?? [];
  }

  #survey(lists: ClusterLists, graphs: Graphs, nowMs: number): Survey {
    const { config, gates, spread, bytesPerRequest } = this.#options;
    // The paper leaves the node to the scheduler, evicts only replicated pods, and ignores left nodes.
    const isPaper = config.mode === "paper";
    this.#settled.expire(nowMs);
    return survey({
      lists,
      cluster: graphs.cluster,
      prices: pricesOf(this.#options.graphs, graphs.cluster),
      workflowGraph: graphs.workflow,
      isGated: isPaper ? () => true : gates(lists),
      inFlight: this.#moves.owners,
      backingOff: this.#backOff.current(nowMs),
      begun: new Set(
        [...this.#memory.campaigns.values()].flatMap(({ moves }) => moves.map(({ uid }) => uid)),
      ),
      settled: (pods) => (isPaper ? new Map() : settledPods(pods, this.#settled, graphs, bytesPerRequest)),
      left: isPaper ? new Map() : this.#left.current(nowMs),
      rules: isPaper ? { ...config, allowSingleReplicas: true } : config,
      maxUnreadyRatio: config.maxUnreadyRatio,
      spread,
      nowMs,
    });
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
        groupSize: 1,
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
