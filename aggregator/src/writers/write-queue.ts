import { delayMs, type BackoffDelays, type Clock, type Logger, type Random } from "@isochrone/runtime";
import type { WriteBudget } from "./domain/write-budget.ts";
import type { WriteKind, WriteResult } from "./metrics.ts";
import type { ObjectWriter, WriteOutcome, WriteTask } from "./object-writer.ts";

export interface PendingWrite {
  readonly kind: WriteKind;
  /** Kind, namespace and name, for messages. */
  readonly subject: string;
  readonly resource: string;
  readonly urgency: number;
  /** Returns the current state of the object, or null if it was deleted. */
  readonly task: () => WriteTask | null;
}

interface WriteQueueOptions {
  readonly writer: (kind: WriteKind) => ObjectWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: WriteBudget;
  readonly writesPerSecond: () => number;
  readonly onResult: (kind: WriteKind, result: WriteResult) => void;
}

const BACKOFF: BackoffDelays = { initialMs: 1000, maxMs: 60_000, factor: 2, jitterRatio: 0.5 };
/** Pause after a denied write; a role may be added later. */
const FORBIDDEN_PAUSE_MS = 300_000;
/** Pause of an object after a rejected write. */
const REFUSED_PAUSE_MS = 600_000;
const MAX_CONCURRENT = 32;
/** Number of failures at which the pause is longest. */
const MAX_FAILURES = 20;

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #pending: PendingWrite[] = [];
  #failures = 0;
  #retryMs = Number.NEGATIVE_INFINITY;
  readonly #forbiddenUntilMs = new Map<WriteKind, number>();

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  plan(pending: PendingWrite[]): void {
    // Most urgent last, where removal is cheap.
    this.#pending = pending.sort((a, b) => a.urgency - b.urgency);
  }

  pending(kind: WriteKind): number {
    return this.#pending.reduce((sum, write) => sum + (write.kind === kind ? 1 : 0), 0);
  }

  /** Writes as many as the budget allows. Never rejects. */
  async drain(signal: AbortSignal): Promise<void> {
    const { clock, budget, writesPerSecond } = this.#options;
    while (!signal.aborted && clock.monotonic() >= this.#retryMs) {
      const batch: [PendingWrite, WriteTask][] = [];
      while (batch.length < MAX_CONCURRENT) {
        const next = this.#next();
        if (next === null) break;
        if (!budget.take(clock.monotonic(), writesPerSecond())) {
          this.#pending.push(next[0]);
          break;
        }
        batch.push(next);
      }
      if (batch.length === 0) return;
      const results = await Promise.all(batch.map(([write, task]) => this.#write(write, task)));
      this.#pace(results);
    }
  }

  /** Concurrent failures count as one. */
  #pace(results: readonly WriteResult[]): void {
    const { clock, random } = this.#options;
    this.#failures = results.includes("failed") ? Math.min(this.#failures + 1, MAX_FAILURES) : 0;
    if (this.#failures > 0) this.#retryMs = clock.monotonic() + delayMs(BACKOFF, this.#failures, random);
  }

  #next(): [PendingWrite, WriteTask] | null {
    const nowMs = this.#options.clock.monotonic();
    for (;;) {
      const write = this.#pending.pop();
      if (write === undefined) return null;
      if (nowMs < (this.#forbiddenUntilMs.get(write.kind) ?? Number.NEGATIVE_INFINITY)) continue;
      const task = write.task();
      if (task !== null && task.isMine()) return [write, task];
    }
  }

  async #write(write: PendingWrite, task: WriteTask): Promise<WriteResult> {
    const outcome = await this.#options.writer(write.kind).write(task);
    this.#options.onResult(write.kind, outcome.result);
    this.#learn(write, task, outcome);
    return outcome.result;
  }

  #learn({ kind, subject, resource }: PendingWrite, { memory }: WriteTask, outcome: WriteOutcome): void {
    const { clock, logger } = this.#options;
    const { result, error, verb } = outcome;
    if (result === "failed") {
      logger.warnOnce("annotations:failed", "annotations can't be written now, trying again", {
        subject,
        error,
      });
    } else if (result === "forbidden") {
      this.#forbiddenUntilMs.set(kind, clock.monotonic() + FORBIDDEN_PAUSE_MS);
      const missing = { verb, resource };
      logger.warnOnce(
        `annotations:forbidden:${kind}`,
        "writing annotations is not permitted: grant it by a role",
        {
          ...missing,
          error,
        },
      );
    } else if (result === "refused") {
      memory.blockedUntilMs = clock.monotonic() + REFUSED_PAUSE_MS;
      logger.warnOnce(`annotations:refused:${subject}`, "annotations are not taken", { subject, error });
    }
  }
}
