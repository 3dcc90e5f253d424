import type { RawSeries } from "./answer.ts";

interface Target {
  /** Counters that begin after this are seen to begin. */
  readonly openMs: number;
  /** Times of scrapes that succeeded, sorted. */
  times: number[];
}

/**
 * When Prometheus scraped which target, by its metric `up`. It tells when a counter began: a series that its
 * target's last page did not have began after that page; without it the first value of a new series would be
 * lost as a mere baseline.
 */
export class ScrapedPages {
  readonly #targets = new Map<string, Target>();

  /**
   * @param series of `up`
   * @param fromMs where the range of the answer begins
   * @param atMs where it ends
   */
  take(series: readonly RawSeries[], fromMs: number, atMs: number): void {
    for (const { labels, samples } of series) {
      const id = targetOf(labels);
      const known = this.#targets.get(id);
      const newestMs = known?.times.at(-1) ?? Number.NEGATIVE_INFINITY;
      const scraped = samples.filter(({ value }) => value === 1).map(({ timeMs }) => timeMs);
      // A target that is new here may be old, and so may its series that this answer happens to begin with.
      if (known === undefined || newestMs < fromMs) this.#targets.set(id, { openMs: atMs, times: scraped });
      else known.times = [...known.times, ...scraped.filter((timeMs) => timeMs > newestMs)];
    }
    for (const [id, target] of this.#targets) {
      target.times = target.times.filter((timeMs) => timeMs >= fromMs);
      if (target.times.length === 0) this.#targets.delete(id);
    }
  }

  /**
   * The target's last page before `timeMs`, not older than `fromMs`; undefined when it is not known to be the
   * last.
   */
  before(labels: RawSeries["labels"], timeMs: number, fromMs: number): number | undefined {
    const target = this.#targets.get(targetOf(labels));
    if (target === undefined || timeMs <= target.openMs) return undefined;
    const pageMs = target.times.findLast((time) => time < timeMs);
    return pageMs !== undefined && pageMs >= fromMs ? pageMs : undefined;
  }
}

/** Who was scraped: all series of a page share these labels. */
function targetOf({ job = "", instance = "", cluster = "" }: RawSeries["labels"]): string {
  return `${job}\n${instance}\n${cluster}`;
}
