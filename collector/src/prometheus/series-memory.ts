import { hash } from "node:crypto";
import type { RawSample, RawSeries } from "./answer.ts";
import type { ScrapedPages } from "./scraped-pages.ts";

/** A sample that was not given before. */
export interface FreshSample extends RawSample {
  /** When the counter began, where that is known. */
  readonly startMs: number | undefined;
}

interface Followed {
  timeMs: number;
  value: number;
  startMs: number | undefined;
}

/** What has been given of each series, so that overlapping answers give every sample once. Bounded in series. */
export class SeriesMemory {
  readonly #pages: ScrapedPages;
  readonly #maxSeries: number;
  readonly #series = new Map<string, Followed>();
  /** Series left out for want of room, once per answer that has them. Only grows. */
  leftOut = 0;

  constructor(pages: ScrapedPages, maxSeries: number) {
    this.#pages = pages;
    this.#maxSeries = maxSeries;
  }

  get size(): number {
    return this.#series.size;
  }

  /**
   * Samples of a series that are new, oldest first.
   * @param fromMs where the range of the answer begins
   */
  fresh({ metric, labels, samples }: RawSeries, fromMs: number): FreshSample[] {
    const key = hash("sha1", `${metric}${JSON.stringify(labels)}`, "base64");
    let followed = this.#series.get(key);
    const fresh: FreshSample[] = [];
    for (const { timeMs, value } of samples) {
      if (followed === undefined) {
        if (this.#series.size >= this.#maxSeries) {
          this.leftOut++;
          return fresh;
        }
        followed = { timeMs, value, startMs: this.#pages.before(labels, timeMs, fromMs) };
        this.#series.set(key, followed);
      } else if (timeMs <= followed.timeMs) continue;
      else if (value < followed.value) followed.startMs = this.#pages.before(labels, timeMs, fromMs);
      followed.timeMs = timeMs;
      followed.value = value;
      fresh.push({ timeMs, value, startMs: followed.startMs });
    }
    return fresh;
  }

  /** Forgets series that have had no sample since. Must lie before every range that will be asked for. */
  forget(beforeMs: number): void {
    for (const [key, { timeMs }] of this.#series) if (timeMs < beforeMs) this.#series.delete(key);
  }
}
