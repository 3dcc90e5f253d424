import type { Clock } from "@isochrone/runtime";

import type { ApiServerObserver, Renewal } from "./client.ts";
import type { InformerObserver } from "../../store/port.ts";

type LabelledCount<L extends string> = readonly [labels: Readonly<Record<L, string>>, value: number];

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

  /** Counts request attempts by verb, kind and HTTP status ("none": no answer). */
  requests(): LabelledCount<"verb" | "kind" | "code">[] {
    return this.#requests.all();
  }

  /** Total time of requests until headers arrived. */
  requestSeconds(): LabelledCount<"verb" | "kind">[] {
    return this.#requestSeconds.all();
  }

  get throttledSeconds(): number {
    return this.#throttledSeconds;
  }

  lists(): LabelledCount<"kind">[] {
    return this.#lists.all();
  }

  /** Restarted watches by reason: ended, silent, or a StoreError's code. */
  restarts(): LabelledCount<"kind" | "reason">[] {
    return this.#restarts.all();
  }

  /** Seconds since an informer last received a list, change or bookmark: the maximum age of its data. */
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
