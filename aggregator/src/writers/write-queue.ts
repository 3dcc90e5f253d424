import { delayMs, type BackoffDelays, type Clock, type Logger, type Random } from "@isochrone/runtime";
import type { WriteBudget } from "./domain/write-budget.ts";
import type { WriteKind, WriteResult } from "./metrics.ts";
import type { ObjectWriter, WriteOutcome, WriteTask } from "./object-writer.ts";

/** A write that is worth doing. */
export interface PendingWrite {
  readonly kind: WriteKind;
  /** For people: kind, namespace and name. */
  readonly subject: string;
  /** Resource, as roles name it. */
  readonly resource: string;
  /** The highest is written first. */
  readonly urgency: number;
  /** The newest state of the object, when its turn comes; null: it is gone. */
  readonly task: () => WriteTask | null;
}

interface WriteQueueOptions {
  readonly writer: (kind: WriteKind) => ObjectWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: WriteBudget;
  /** This replica's share of the budget, at this moment. */
  readonly writesPerSecond: () => number;
  readonly onResult: (kind: WriteKind, result: WriteResult) => void;
}

/** While the API server can't be reached. */
const BACKOFF: BackoffDelays = { initialMs: 1000, maxMs: 60_000, factor: 2, jitterRatio: 0.5 };
/** What isn't allowed is tried again after so long: a role may have been added. */
const FORBIDDEN_PAUSE_MS = 300_000;
/** An object that the API server doesn't take is left alone for so long. */
const REFUSED_PAUSE_MS = 600_000;
const MAX_CONCURRENT = 32;
/** More make no pause longer. */
const MAX_FAILURES = 20;

/** What waits to be written, the most urgent first, within the budget. */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #pending: PendingWrite[] = [];
  #failures = 0;
  #retryMs = Number.NEGATIVE_INFINITY;
  readonly #forbiddenUntilMs = new Map<WriteKind, number>();

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Replaces what waited: it was planned anew. */
  plan(pending: PendingWrite[]): void {
    // The most urgent at the end, where taking is cheap.
    this.#pending = pending.sort((a, b) => a.urgency - b.urgency);
  }

  pending(kind: WriteKind): number {
    return this.#pending.reduce((sum, write) => sum + (write.kind === kind ? 1 : 0), 0);
  }

  /** Writes as much as the budget allows now. Never rejects. */
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

  /** However many failed at once, it is one failure of the way. */
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
