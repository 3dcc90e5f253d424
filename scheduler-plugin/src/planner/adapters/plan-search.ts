import { EXACT_PAIRS, exactPlan, quickEffort } from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { AnsweringThread } from "@isochrone/runtime";
import type { Clock, ThreadOutcome } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { PlannerError } from "./errors.ts";
import type { PlanTurn } from "../domain/early-plans.ts";
import { costSettings, provenResult, searchPlan } from "../domain/search.ts";
import type { SearchOptions, SearchResult } from "../domain/search.ts";
import { Turns } from "../domain/turns.ts";
import { columnsOf, packed } from "./plan-messages.ts";
import type { NodeColumns, PlanAnswer, PlanLimits, PlanRequest, PlanTask } from "./plan-messages.ts";

export interface PlanSearchOptions {
  readonly clock: Clock;
  /** Pairs (pod, node) up to which a search converges before a thread would answer. @default 100 */
  readonly inlinePairs?: number;
  /** Solves problems of up to EXACT_PAIRS pairs exactly. @default none */
  readonly solve?: LinearSolver;
  readonly threadUrl?: URL;
}

const INLINE_PAIRS = 100;
/** Pairs up to which a search without a thread blocks the event loop for at most `INLINE_MS`. */
const SMALL_PAIRS = 2_000;
const INLINE_MS = 20;
/** Limit for a search that nobody waits for. */
const PATIENT_INLINE_MS = 5;
/** With less time a solver proves nothing. */
const EXACT_MS = 100;
const GRACE_MS = 4_000;
/** A thread that hasn't loaded by then is replaced. */
const LOAD_MS = 60_000;
/** More than any plan needs. Beyond it the thread ends, not the process. */
const MAX_HEAP_MB = 2_048;

/**
 * Searches tiny plans inline and others in one thread, one at a time. An urgent search cuts a patient one
 * short. A dead or hanging thread is replaced with the next plan. Until the thread has loaded, which takes
 * seconds on a busy machine, plans are searched inline with little effort.
 */
export class PlanSearch {
  readonly #options: PlanSearchOptions;
  readonly #thread: AnsweringThread<PlanRequest, PlanAnswer>;
  #loading: Promise<void> | null = null;
  #hasLoaded = false;
  #sent: ClusterGraphSnapshot | null = null;
  #sentNodes: NodeColumns | null = null;
  readonly #turns = new Turns();
  readonly #cut = new Int32Array(new SharedArrayBuffer(4));
  #isPatient = false;
  #open = new AbortController();

  constructor(options: PlanSearchOptions) {
    this.#options = options;
    const { clock, threadUrl = new URL("./plan-thread.ts", import.meta.url) } = options;
    this.#thread = new AnsweringThread({
      url: threadUrl,
      name: "isochrone-planner",
      maxHeapMb: MAX_HEAP_MB,
      clock,
    });
  }

  /** Starts the thread in advance. Resolves when it is usable or has died. */
  async start(): Promise<void> {
    if (this.#isReady) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    await this.#loading;
  }

  /**
   * @param cluster snapshot of the problem's cluster graph; null: unavailable, so search inline. @param turn
   * `due` starts from the result of `runEarly`. Rejects with PlannerError.
   */
  async run(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot | null,
    options: PlanLimits,
    turn: Exclude<PlanTurn, "early"> = "other",
  ): Promise<SearchResult> {
    const { clock, inlinePairs = INLINE_PAIRS } = this.#options;
    const pairs = problem.pods.length * problem.nodes.length;
    const isTiny = pairs <= inlinePairs;
    const isReady = this.#isReady;
    if (cluster !== null && !isTiny && !isReady) void this.start();
    if (cluster === null || isTiny || !isReady) {
      const budgetMs = pairs <= SMALL_PAIRS ? Math.min(INLINE_MS, options.budgetMs) : options.budgetMs;
      const effort = options.effort ?? quickEffort(problem);
      const here = { ...options, budgetMs, effort, now: () => clock.monotonic() };
      return await this.#proven(problem, searchPlan(problem, here), { ...here, budgetMs: options.budgetMs });
    }
    if (this.#isPatient) this.hurry();
    return await this.#turn(problem, cluster, options, { turn });
  }

  /**
   * Searches in the thread until an urgent search arrives; the thread keeps the plan for the workflow's turn.
   * No-op if the turn's search would be as good or inline. Rejects with PlannerError.
   */
  async runEarly(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot | null,
    options: PlanLimits,
  ): Promise<void> {
    const { inlinePairs = INLINE_PAIRS } = this.#options;
    const isTiny = problem.pods.length * problem.nodes.length <= inlinePairs;
    if (cluster === null || isTiny || !this.#isReady) return;
    if (this.#isPatient) this.hurry();
    await this.#turn(problem, cluster, options, { isPatient: true, turn: "early" });
  }

  /**
   * Searches when no `run` waits. Large problems wait for the thread; small ones run inline for some ms while
   * there is none. Rejects with PlannerError, also if no thread can start.
   */
  async runPatiently(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot | null,
    options: PlanLimits,
  ): Promise<SearchResult> {
    const { clock, inlinePairs = SMALL_PAIRS } = this.#options;
    const isSmall = problem.pods.length * problem.nodes.length <= inlinePairs;
    if (isSmall && (cluster === null || !this.#isReady)) {
      const budgetMs = Math.min(PATIENT_INLINE_MS, options.budgetMs);
      return searchPlan(problem, { ...options, budgetMs, now: () => clock.monotonic() });
    }
    await this.start();
    if (cluster === null || !this.#isReady)
      throw new PlannerError("plan_no_thread", "there is no thread that could search the plan");
    return await this.#turn(problem, cluster, options, { isPatient: true });
  }

  hurry(): void {
    Atomics.store(this.#cut, 0, 1);
  }

  async close(): Promise<void> {
    this.#open.abort();
    this.#open = new AbortController();
    await this.#thread.close();
  }

  #turn(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot,
    options: PlanLimits,
    { isPatient = false, turn = "other" }: { readonly isPatient?: boolean; readonly turn?: PlanTurn },
  ): Promise<SearchResult> {
    const { signal } = this.#open;
    return this.#turns.run(async () => {
      if (signal.aborted) throw aborted();
      this.#isPatient = isPatient;
      Atomics.store(this.#cut, 0, 0);
      return await this.#inThread(problem, cluster, options, turn);
    }, isPatient);
  }

  get #isReady(): boolean {
    return this.#hasLoaded && this.#thread.isRunning;
  }

  /** Never rejects: the request can always be posted. */
  async #load(): Promise<void> {
    this.#hasLoaded = false;
    this.#sent = null;
    this.#sentNodes = null;
    const { kind } = await this.#thread.ask({ task: null }, LOAD_MS);
    this.#hasLoaded = kind === "answer";
  }

  async #proven(problem: PlanProblem, found: SearchResult, options: SearchOptions): Promise<SearchResult> {
    const { solve } = this.#options;
    const { now, budgetMs } = options;
    const pairs = problem.pods.length * problem.nodes.length;
    if (solve === undefined || pairs > EXACT_PAIRS || budgetMs < EXACT_MS) return found;
    if (!found.complete || found.ended === "optimal") return found;
    const beganMs = now();
    try {
      const { latencyLimit } = found;
      const limits = { solve, now, deadlineMs: beganMs + budgetMs, latencyLimit };
      const proof = await exactPlan(problem, { ...limits, ...costSettings(options) });
      const durationMs = found.durationMs + now() - beganMs;
      if (proof.kind !== "optimal") return { ...found, durationMs };
      return { ...provenResult(problem, found, proof, options), durationMs };
    } catch {
      return found;
    }
  }

  async #inThread(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot,
    options: PlanLimits,
    turn: PlanTurn,
  ): Promise<SearchResult> {
    const nodes = columnsOf(problem.nodes, this.#sentNodes);
    const task: PlanTask = {
      cluster: this.#sent === cluster ? null : cluster,
      problem: packed(problem, this.#sentNodes === nodes ? null : nodes),
      options,
      turn,
      cut: this.#cut,
    };
    const { free, allocatable } = task.problem;
    const timeoutMs = options.budgetMs + GRACE_MS;
    // The thread's state is unknown: resend everything.
    this.#sent = null;
    this.#sentNodes = null;
    const outcome = await this.#thread.ask({ task }, timeoutMs, [free.buffer, allocatable.buffer]);
    const result = resultOf(outcome, timeoutMs);
    this.#sent = cluster;
    this.#sentNodes = nodes;
    return result;
  }
}

function aborted(): PlannerError {
  return new PlannerError("plan_aborted", "the planner was stopped while it searched");
}

function resultOf(outcome: ThreadOutcome<PlanAnswer>, timeoutMs: number): SearchResult {
  const { kind } = outcome;
  if (kind === "busy") throw new PlannerError("plan_busy", "one plan is searched at a time");
  if (kind === "closed") throw aborted();
  if (kind === "timeout")
    throw new PlannerError("plan_timeout", `a plan must take at most ${timeoutMs} ms; the thread was ended`);
  if (kind === "died")
    throw new PlannerError("plan_thread_died", "the thread that searches plans died", {
      cause: outcome.cause,
    });
  const { answer } = outcome;
  if ("result" in answer) return answer.result;
  const failure = "failure" in answer ? answer.failure : "it found nothing";
  throw new PlannerError("plan_failed", `the search for a plan failed: ${failure}`);
}
