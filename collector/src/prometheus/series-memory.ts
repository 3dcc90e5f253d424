import { hash } from "node:crypto";
import type { RawSample, RawSeries } from "./answer.ts";
import type { ScrapedPages } from "./scraped-pages.ts";

export interface FreshSample extends RawSample {
  readonly startMs: number | undefined;
}

interface Followed {
  readonly namespace: string;
  timeMs: number;
  value: number;
  startMs: number | undefined;
}

/** Part of the capacity that anyone may use; the rest is shared equally by namespaces. */
const SHARED_PART = 1 / 2;

/** Last published sample per series: overlapping answers publish once. Bounded per namespace and in total. */
export class SeriesMemory {
  readonly #pages: ScrapedPages;
  readonly #maxSeries: number;
  readonly #series = new Map<string, Followed>();
  readonly #byNamespace = new Map<string, number>();
  /** Series dropped for lack of room, once per answer. Cumulative. */
  leftOut = 0;

  constructor(pages: ScrapedPages, maxSeries: number) {
    this.#pages = pages;
    this.#maxSeries = maxSeries;
  }

  get size(): number {
    return this.#series.size;
  }

  /**
   * New samples of a series, oldest first.
   * @param fromMs start of the answer's range
   * @param namespace of the scraped pod; "": none or an operator's, without a share limit
   */
  fresh({ metric, labels, samples }: RawSeries, fromMs: number, namespace = ""): FreshSample[] {
    const key = hash("sha1", `${metric}${JSON.stringify(labels)}`, "base64");
    let followed = this.#series.get(key);
    const fresh: FreshSample[] = [];
    for (const { timeMs, value } of samples) {
      if (followed === undefined) {
        if (!this.#hasRoom(namespace)) {
          this.leftOut++;
          return fresh;
        }
        followed = { namespace, timeMs, value, startMs: this.#pages.before(labels, timeMs, fromMs) };
        this.#series.set(key, followed);
        this.#byNamespace.set(namespace, (this.#byNamespace.get(namespace) ?? 0) + 1);
      } else if (timeMs <= followed.timeMs) continue;
      else if (value < followed.value) followed.startMs = this.#pages.before(labels, timeMs, fromMs);
      followed.timeMs = timeMs;
      followed.value = value;
      fresh.push({ timeMs, value, startMs: followed.startMs });
    }
    return fresh;
  }

  forget(beforeMs: number): void {
    for (const [key, { timeMs, namespace }] of this.#series) {
      if (timeMs >= beforeMs) continue;
      this.#series.delete(key);
      const left = (this.#byNamespace.get(namespace) ?? 1) - 1;
      if (left > 0) this.#byNamespace.set(namespace, left);
      else this.#byNamespace.delete(namespace);
    }
  }

  #hasRoom(namespace: string): boolean {
    const { size } = this.#series;
    if (size >= this.#maxSeries) return false;
    if (namespace === "" || size < this.#maxSeries * SHARED_PART) return true;
    const own = this.#byNamespace.get(namespace) ?? 0;
    return own < this.#maxSeries / (this.#byNamespace.size + (own === 0 ? 1 : 0));
  }
}
