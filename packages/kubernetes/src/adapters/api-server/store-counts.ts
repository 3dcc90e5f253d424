import type { Clock } from "@isochrone/runtime";

import type { ApiServerObserver, Renewal } from "./client.ts";
import type { InformerObserver } from "../../store/port.ts";

/** A number with its labels, as a metric shows it. */
type LabelledCount<L extends string> = readonly [labels: Readonly<Record<L, string>>, value: number];

/**
 * What a service has asked of its API server, for its metrics: to be an observer of the store and of
 * informers alike.
 */
export class StoreCounts implements ApiServerObserver, InformerObserver {
  readonly #clock: Clock;
  readonly #requests = new Counter<"verb" | "kind" | "code">();
  readonly #requestSeconds = new Counter<"verb" | "kind">();
  readonly #lists = new Counter<"kind">();
  readonly #restarts = new Counter<"kind" | "reason">();
  readonly #heardAtMs = new Map<string, number>();
  #throttledSeconds = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  requested(request: { verb: string; kind: string; code: number; durationMs: number }): void {
    const { verb, kind, code, durationMs } = request;
    this.#requests.add({ verb, kind, code: code === 0 ? "none" : String(code) }, 1);
    this.#requestSeconds.add({ verb, kind }, durationMs / 1_000);
  }

  throttled(waitMs: number): void {
    this.#throttledSeconds += waitMs / 1_000;
  }

  watchRenewed(kind: string, reason: Renewal): void {
    this.#restarts.add({ kind, reason }, 1);
  }

  listed(kind: string): void {
    this.#lists.add({ kind }, 1);
  }

  restarted(kind: string, reason: string): void {
    this.#restarts.add({ kind, reason }, 1);
  }

  heard(kind: string): void {
    this.#heardAtMs.set(kind, this.#clock.monotonic());
  }

  /** Tries of requests, by verb, kind and HTTP status ("none" when there was no answer). */
  requests(): LabelledCount<"verb" | "kind" | "code">[] {
    return this.#requests.all();
  }

  /** Time that they took until their headers came, in all. */
  requestSeconds(): LabelledCount<"verb" | "kind">[] {
    return this.#requestSeconds.all();
  }

  /** Time that requests waited for our own limit of their rate, in all. */
  get throttledSeconds(): number {
    return this.#throttledSeconds;
  }

  /** Full lists that informers took in. */
  lists(): LabelledCount<"kind">[] {
    return this.#lists.all();
  }

  /** Watches that had to go on anew: ended, silent, or a StoreError's code. */
  restarts(): LabelledCount<"kind" | "reason">[] {
    return this.#restarts.all();
  }

  /**
   * Seconds since an informer of the kind last heard of the server: a list, a change or a bookmark. What it
   * shows may be as old.
   */
  silenceSeconds(): LabelledCount<"kind">[] {
    const nowMs = this.#clock.monotonic();
    return [...this.#heardAtMs].map(([kind, atMs]) => [{ kind }, (nowMs - atMs) / 1_000]);
  }
}

class Counter<L extends string> {
  readonly #counts = new Map<string, { labels: Readonly<Record<L, string>>; value: number }>();

  add(labels: Readonly<Record<L, string>>, amount: number): void {
    const key = JSON.stringify(labels);
    const count = this.#counts.get(key) ?? { labels, value: 0 };
    this.#counts.set(key, count);
    count.value += amount;
  }

  all(): LabelledCount<L>[] {
    return [...this.#counts.values()].map(({ labels, value }) => [labels, value]);
  }
}
