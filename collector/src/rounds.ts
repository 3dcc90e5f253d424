import type { Clock, Logger, Random } from "@isochrone/runtime";
import { FairQueue } from "./fair-share.ts";
import { GaugeShare, type CollectorMetrics, type SkipReason } from "./metrics.ts";
import type { Target, TargetKind, TargetRole, TargetSource } from "./ports/ports.ts";
import { ScrapePlan, type ScrapeOutcome } from "./scrape-plan.ts";
import type { CollectorConfig } from "./settings.ts";

const MAX_TARGETS = 1_000;
/** A failing page is tried at least once in so many rounds. */
const MAX_BACKOFF_ROUNDS = 8;
const MAX_ROUND_BYTES = 128 * 1024 * 1024;
const CONCURRENCY = 16;

/** How a scrape ended; null: it was broken off because the collector stops. */
export type ScrapeEnd = { readonly outcome: ScrapeOutcome; readonly bytes: number } | null;

interface RoundsOptions {
  readonly config: CollectorConfig;
  readonly source: TargetSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: CollectorMetrics;
  readonly scrape: (target: Target, timeoutMs: number, signal: AbortSignal) => Promise<ScrapeEnd>;
}

/** Reads due pages. A round ends within its interval: it starts no page that could not finish. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #plan: ScrapePlan;
  readonly #gauges = new GaugeShare();
  readonly #seen = new Map<string, { readonly kind: TargetKind; readonly role: TargetRole }>();

  constructor(options: RoundsOptions) {
    const { intervalMs, maxBackoffRounds = MAX_BACKOFF_ROUNDS } = options.config;
    this.#options = options;
    const { random } = options;
    this.#plan = new ScrapePlan({ intervalMs, maxBackoffRounds, maxTargets: MAX_TARGETS, random });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, metrics, source } = this.#options;
    const begunMs = clock.monotonic();
    const targets = source.targets();
    const { due, skipped } = this.#plan.round(targets, begunMs);
    for (const { target, reason } of skipped) this.#skip(target, reason);
    const spent = { begunMs, bytes: 0 };
    const queue = new FairQueue(due, this.#maxBytes);
    const workers = this.#lanes(due.length).map(async (prefers) => {
      for (let target = queue.next(prefers); target !== undefined; target = queue.next(prefers)) {
        if (signal.aborted) return;
        queue.ended(target, await this.#read(target, spent, signal));
      }
    });
    await Promise.all(workers);
    metrics.roundDuration.observe((clock.monotonic() - begunMs) / 1000);
    this.#count(targets);
  }

  get #maxBytes(): number {
    return this.#options.config.maxRoundBytes ?? MAX_ROUND_BYTES;
  }

  close(): void {
    this.#gauges.clear();
  }

  /** Workers prefer pages that answered, or new and failed ones, in turns, so that neither group starves. */
  #lanes(due: number): ((target: Target) => boolean)[] {
    const { concurrency = CONCURRENCY } = this.#options.config;
    const isProven = (target: Target): boolean => this.#plan.isUp(target) === true;
    if (concurrency === 1) return [() => true];
    return Array.from({ length: Math.min(concurrency, due) }, (_, index) =>
      index % 2 === 0 ? isProven : (target) => !isProven(target),
    );
  }

  async #read(
    target: Target,
    spent: { readonly begunMs: number; bytes: number },
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, config, scrape } = this.#options;
    const nowMs = clock.monotonic();
    const timeoutMs = config.timeoutMs;
    if (spent.bytes >= this.#maxBytes) return this.#skip(target, "round_bytes");
    if (nowMs - spent.begunMs + timeoutMs > config.intervalMs) return this.#skip(target, "round_time");
    const end = await scrape(target, timeoutMs, signal);
    if (end === null) return 0;
    spent.bytes += end.bytes;
    this.#plan.ended(target, nowMs, end.outcome);
    return end.bytes;
  }

  #skip({ kind, instance }: Target, reason: SkipReason): 0 {
    const { metrics, logger } = this.#options;
    metrics.skipped.inc({ kind, reason });
    if (reason !== "backoff") logger.warnOnce(`skipped ${reason}`, "page left out", { instance, reason });
    return 0;
  }

  #count(targets: readonly Target[]): void {
    const { metrics } = this.#options;
    for (const { kind, role = "static" } of targets) this.#seen.set(`${kind} ${role}`, { kind, role });
    for (const { kind, role } of this.#seen.values()) {
      const ofKind = targets.filter((target) => target.kind === kind);
      const ofRole = ofKind.filter((target) => (target.role ?? "static") === role);
      this.#gauges.set(metrics.targets, { kind, role }, ofRole.length);
      const up = ofKind.map((target) => this.#plan.isUp(target));
      this.#gauges.set(metrics.up, { kind }, up.filter((each) => each === true).length);
      this.#gauges.set(metrics.failing, { kind }, up.filter((each) => each === false).length);
      const incomplete = ofKind.filter((target) => this.#plan.isIncomplete(target));
      this.#gauges.set(metrics.incomplete, { kind }, incomplete.length);
    }
  }
}
