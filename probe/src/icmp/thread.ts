import type { Logger } from "@isochrone/runtime";
import { backoffMs } from "@isochrone/primitives";
import { ICMP_PROBERS, type IcmpProberName } from "../ports/ports.ts";
import type { FromIcmp, IcmpReport, IcmpTask, ToIcmp } from "./messages.ts";
import { proberStarters, type ProberLink, type StartProber } from "./prober-links.ts";
import { mergeReports } from "./report-merge.ts";

const NOTHING: IcmpReport = { flows: [], zeroCheck: null };
const RESTART = { initialMs: 100, maxMs: 10_000, factor: 2 };
const HEALTHY_MS = 30_000;

const FINISH_MS = 500;

/** Handles failures of the current link; a prober that never became ready gives way to the next. */
interface Attempt {
  readonly name: IcmpProberName;
  readonly link: ProberLink;
  ready: boolean;
}

/**
 * Sends ICMP echoes by the first prober that works here, in its own thread or process. It starts with the
 * first task and restarts when it dies. If none works, it reports that once.
 */
export class IcmpThread {
  readonly #logger: Logger;
  readonly #starters: Readonly<Record<IcmpProberName, StartProber>>;
  readonly #tasks = new Map<number, IcmpTask>();
  readonly #reports = new Map<number, IcmpReport>();
  readonly #removals = new Map<number, () => void>();
  readonly #refusals: Partial<Record<IcmpProberName, string>> = {};
  #untried: IcmpProberName[] = [];
  #requested: IcmpTask["prober"] | null = null;
  #attempt: Attempt | null = null;
  #prober: IcmpProberName | null = null;
  #restarts = 0;
  #failures = 0;
  /** Timer of the next start, or of HEALTHY_MS. */
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(logger: Logger, kernelWorkerUrl?: URL, starters = proberStarters(kernelWorkerUrl)) {
    this.#logger = logger;
    this.#starters = starters;
  }

  get prober(): IcmpProberName | null {
    return this.#prober;
  }

  get restarts(): number {
    return this.#restarts;
  }

  setTask(task: IcmpTask): void {
    this.#tasks.set(task.engine, task);
    const wanted = task.peers.length > 0 || task.zeroCheckIntervalMs > 0;
    if (this.#requested === null && wanted && !this.#closed) this.#choose(task.prober);
    else this.#post({ type: "task", task });
    if (wanted && this.#requested !== task.prober) {
      this.#logger.warnOnce("icmp-prober", "all engines of a process share one ICMP prober", {
        asked: task.prober,
        used: this.#requested,
      });
    }
  }

  /** Ends the engine's task. Resolves when its last report is available, or after FINISH_MS. */
  async finish(engine: number): Promise<void> {
    if (!this.#tasks.has(engine)) return;
    if (this.#attempt?.ready === true) {
      const removed = Promise.withResolvers<void>();
      this.#removals.set(engine, removed.resolve);
      this.#post({ type: "remove", engine });
      const timer = setTimeout(removed.resolve, FINISH_MS);
      await removed.promise;
      clearTimeout(timer);
      this.#removals.delete(engine);
    }
    this.#tasks.delete(engine);
  }

  drain(engine: number): IcmpReport {
    const taken = this.#attempt?.link.take?.(engine) ?? null;
    if (taken !== null) this.#keep(engine, taken);
    const report = this.#reports.get(engine) ?? NOTHING;
    this.#reports.delete(engine);
    return report;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#prober = null;
    this.#callOff();
    const attempt = this.#attempt;
    this.#attempt = null;
    await attempt?.link.close();
  }

  #choose(requested: IcmpTask["prober"]): void {
    this.#requested = requested;
    this.#untried = requested === "auto" ? [...ICMP_PROBERS] : [requested];
    this.#tryNext();
  }

  #tryNext(): void {
    const name = this.#untried.shift();
    if (name !== undefined) {
      this.#start(name);
      return;
    }
    const refusals = Object.entries(this.#refusals);
    const reason =
      refusals.length === 1
        ? refusals[0]?.[1]
        : refusals.map(([name, reason]) => `${name}: ${reason}`).join("; ");
    this.#logger.warn("ICMP not available; the other methods continue", { reason });
  }

  #start(name: IcmpProberName): void {
    const link = this.#starters[name]({
      onMessage: (message) => this.#attempt?.link === link && this.#handle(this.#attempt, message),
      onEnd: (reason) => this.#attempt?.link === link && this.#ended(this.#attempt, reason),
    });
    this.#attempt = { name, link, ready: false };
  }

  #handle(attempt: Attempt, message: FromIcmp): void {
    switch (message.type) {
      case "ready":
        this.#ready(attempt, message.description);
        return;
      case "unavailable":
        void attempt.link.close();
        this.#ended(attempt, message.reason);
        return;
      case "report":
        this.#keep(message.engine, message.report);
        return;
      case "removed":
        this.#removals.get(message.engine)?.();
        return;
      default:
        message satisfies never;
    }
  }

  #ready(attempt: Attempt, description: string): void {
    attempt.ready = true;
    this.#callOff();
    this.#timer = setTimeout(() => (this.#failures = 0), HEALTHY_MS).unref();
    const first = this.#prober === null;
    this.#prober = attempt.name;
    if (first) {
      this.#logger.info("ICMP prober chosen", {
        prober: attempt.name,
        description,
        ...(Object.keys(this.#refusals).length === 0 ? {} : { refused: { ...this.#refusals } }),
      });
    }
    for (const task of this.#tasks.values()) this.#post({ type: "task", task });
  }

  /** A prober that once worked is always restarted; one that never did gives way to the next. */
  #ended(attempt: Attempt, reason: string): void {
    this.#attempt = null;
    if (this.#prober === null) {
      this.#refusals[attempt.name] = reason;
      this.#tryNext();
      return;
    }
    this.#restarts++;
    const delayMs = backoffMs(RESTART, ++this.#failures);
    this.#logger.warn("ICMP prober died", { prober: attempt.name, reason, restartInMs: delayMs });
    this.#callOff();
    this.#timer = setTimeout(() => this.#start(attempt.name), delayMs);
  }

  #callOff(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #keep(engine: number, report: IcmpReport): void {
    if (!this.#tasks.has(engine)) return;
    const waiting = this.#reports.get(engine);
    this.#reports.set(engine, waiting === undefined ? report : mergeReports(waiting, report));
  }

  #post(message: ToIcmp): void {
    if (this.#attempt?.ready === true) this.#attempt.link.post(message);
  }
}
