import { Worker } from "node:worker_threads";
import { EXACT_PAIRS, exactPlan } from "@isochrone/placement";
import type { LinearSolver, PlanProblem } from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { PlannerError } from "../errors.ts";
import { provenResult, searchPlan } from "../domain/search.ts";
import type { SearchOptions, SearchResult } from "../domain/search.ts";
import { columnsOf, packed, READY } from "./plan-messages.ts";
import type { NodeColumns, PlanAnswer, PlanRequest } from "./plan-messages.ts";

export interface PlanSearchOptions {
  readonly clock: Clock;
  /** Pairs of a pod and a node up to which a plan takes less time than a thread is worth. @default 2000 */
  readonly inlinePairs?: number;
  /** Solves problems of up to EXACT_PAIRS pairs exactly. @default nobody does */
  readonly solve?: LinearSolver;
  /** Entry file of the thread. @default plan-thread.ts */
  readonly threadUrl?: URL;
}

interface Pending {
  readonly id: number;
  readonly answer: PromiseWithResolvers<SearchResult>;
}

const INLINE_PAIRS = 2_000;
/** A small plan may hold the event loop for so long. */
const INLINE_MS = 20;
/** A solver with less time proves nothing. */
const EXACT_MS = 100;
/** For the way there and back beside the search itself. */
const GRACE_MS = 4_000;
/** More than any plan needs; beyond it the thread ends instead of the process. */
const MAX_HEAP_MB = 2_048;

/**
 * Searches small plans at once and large ones in a thread, one at a time. A thread that dies or hangs is replaced with the next plan; until
 * it has loaded its code, which takes seconds on a busy machine, plans are searched here.
 */
export class PlanSearch {
  readonly #options: PlanSearchOptions;
  #worker: Worker | null = null;
  #isReady = false;
  #pending: Pending | null = null;
  #nextId = 1;
  /** The cluster graph that the thread has. */
  #sent: ClusterGraphSnapshot | null = null;
  #sentNodes: NodeColumns | null = null;

  constructor(options: PlanSearchOptions) {
    this.#options = options;
  }

  /** Starts the thread, so that it is there when it is needed; resolves when it can be used, or has died. */
  async start(): Promise<void> {
    const worker = this.#begin();
    if (this.#isReady) return;
    await new Promise<void>((resolve) => {
      worker.once("message", () => resolve());
      worker.once("exit", () => resolve());
    });
  }

  /** @param cluster the snapshot of the problem's cluster graph; null: nobody has it, so the search is done here. Rejects with PlannerError. */
  async run(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot | null,
    options: Omit<SearchOptions, "now">,
  ): Promise<SearchResult> {
    const { clock, inlinePairs = INLINE_PAIRS } = this.#options;
    const isSmall = problem.pods.length * problem.nodes.length <= inlinePairs;
    if (cluster !== null && !isSmall) this.#begin();
    if (cluster === null || isSmall || !this.#isReady) {
      const budgetMs = isSmall ? Math.min(INLINE_MS, options.budgetMs) : options.budgetMs;
      const here = { ...options, budgetMs, now: () => clock.monotonic() };
      return await this.#proven(problem, searchPlan(problem, here), { ...here, budgetMs: options.budgetMs });
    }
    return await this.#inThread(problem, cluster, options);
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    this.#pending?.answer.reject(
      new PlannerError("plan_aborted", "the planner was stopped while it searched"),
    );
    await worker?.terminate();
  }

  /** What was found, or what a solver proves to be cheaper in time. */
  async #proven(problem: PlanProblem, found: SearchResult, options: SearchOptions): Promise<SearchResult> {
    const { solve } = this.#options;
    const { now, budgetMs, bytesPerRequest } = options;
    const pairs = problem.pods.length * problem.nodes.length;
    if (solve === undefined || pairs > EXACT_PAIRS || budgetMs < EXACT_MS) return found;
    if (!found.complete || found.ended === "optimal") return found;
    const beganMs = now();
    try {
      const proof = await exactPlan(problem, { solve, now, deadlineMs: beganMs + budgetMs, bytesPerRequest });
      const durationMs = found.durationMs + now() - beganMs;
      if (proof.kind !== "optimal") return { ...found, durationMs };
      return { ...provenResult(problem, found, proof, options), durationMs };
    } catch {
      // The plan that was found is good enough, and the next one may be proven again.
      return found;
    }
  }

  async #inThread(
    problem: PlanProblem,
    cluster: ClusterGraphSnapshot,
    options: Omit<SearchOptions, "now">,
  ): Promise<SearchResult> {
    if (this.#pending !== null) throw new PlannerError("plan_busy", "one plan is searched at a time");
    const pending: Pending = { id: this.#nextId++, answer: Promise.withResolvers() };
    this.#pending = pending;
    const answered = new AbortController();
    void this.#endAfter(options.budgetMs + GRACE_MS, pending, answered.signal);
    try {
      const nodes = columnsOf(problem.nodes, this.#sentNodes);
      this.#post({
        id: pending.id,
        cluster: this.#sent === cluster ? null : cluster,
        problem: packed(problem, this.#sentNodes === nodes ? null : nodes),
        options,
      });
      this.#sent = cluster;
      this.#sentNodes = nodes;
      return await pending.answer.promise;
    } finally {
      answered.abort();
      this.#pending = null;
    }
  }

  #begin(): Worker {
    this.#worker ??= this.#create();
    return this.#worker;
  }

  #create(): Worker {
    this.#isReady = false;
    this.#sent = null;
    this.#sentNodes = null;
    const { threadUrl = new URL("./plan-thread.ts", import.meta.url) } = this.#options;
    const worker = new Worker(threadUrl, {
      name: "isochrone-planner",
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.unref();
    worker.on("message", (message: PlanAnswer | typeof READY) => {
      if (this.#worker !== worker) return;
      if (message === READY) this.#isReady = true;
      else this.#take(message);
    });
    worker.on("error", (error) => this.#died(worker, error));
    worker.on("exit", (code) => this.#died(worker, new Error(`it ended with code ${code}`)));
    return worker;
  }

  #post(request: PlanRequest): void {
    this.#worker?.postMessage(request, [request.problem.free.buffer, request.problem.allocatable.buffer]);
  }

  #take(answer: PlanAnswer): void {
    const pending = this.#pending;
    if (pending === null || pending.id !== answer.id) return;
    if ("result" in answer) pending.answer.resolve(answer.result);
    else
      pending.answer.reject(
        new PlannerError("plan_failed", `the search for a plan failed: ${answer.failure}`),
      );
  }

  #died(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#drop();
    this.#pending?.answer.reject(
      new PlannerError("plan_thread_died", "the thread that searches plans died", { cause }),
    );
  }

  #drop(): void {
    this.#worker = null;
    this.#isReady = false;
  }

  /** Never rejects: the sleep ends early only when there is an answer. */
  async #endAfter(timeoutMs: number, pending: Pending, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(timeoutMs, signal).catch(() => undefined);
    if (signal.aborted || this.#pending !== pending) return;
    const worker = this.#worker;
    this.#drop();
    pending.answer.reject(
      new PlannerError("plan_timeout", `a plan must take at most ${timeoutMs} ms; the thread was ended`),
    );
    await worker?.terminate();
  }
}
