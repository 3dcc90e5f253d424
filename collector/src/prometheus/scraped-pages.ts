import type { RawSeries } from "./answer.ts";

interface Target {
  readonly openMs: number;
  times: number[];
}

/**
 * Scrape times per target from `up`, to determine when counters began: a series missing on the target's last
 * page began after it. Otherwise a new series' first value would be lost as a baseline.
 */
export class ScrapedPages {
  readonly #targets = new Map<string, Target>();

  /** @param series of `up` @param fromMs start of the answer's range @param atMs its end */
  take(series: readonly RawSeries[], fromMs: number, atMs: number): void {
    for (const { labels, samples } of series) {
      const id = targetOf(labels);
      const known = this.#targets.get(id);
      const newestMs = known?.times.at(-1) ?? Number.NEGATIVE_INFINITY;
      const scraped = samples.filter(({ value }) => value === 1).map(({ timeMs }) => timeMs);
      // First sight of a target doesn't mean that its counters started now.
      if (known === undefined || newestMs < fromMs) this.#targets.set(id, { openMs: atMs, times: scraped });
      else known.times = [...known.times, ...scraped.filter((timeMs) => timeMs > newestMs)];
    }
    for (const [id, target] of this.#targets) {
      target.times = target.times.filter((timeMs) => timeMs >= fromMs);
      if (target.times.length === 0) this.#targets.delete(id);
    }
  }

  /** The target's last page in [fromMs, timeMs); undefined if unknown. */
  before(labels: RawSeries["labels"], timeMs: number, fromMs: number): number | undefined {
    const target = this.#targets.get(targetOf(labels));
    if (target === undefined || timeMs <= target.openMs) return undefined;
    const pageMs = target.times.findLast((time) => time < timeMs);
    return pageMs !== undefined && pageMs >= fromMs ? pageMs : undefined;
  }
}

function targetOf({ job = "", instance = "", cluster = "" }: RawSeries["labels"]): string {
  return `${job}\n${instance}\n${cluster}`;
}
