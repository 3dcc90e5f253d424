import type { RecordIdentity } from "@isochrone/telemetry";

/** The bus' header by which a publisher says how many records of its stream it dropped so far. */
const DROPPED_HEADER = "isochrone-dropped";

/** What a publisher said last. */
export interface DroppedReport {
  readonly source: string;
  readonly epoch: string;
  /** Records of the epoch, in all. */
  readonly dropped: number;
}

/** Sums up what publishers say they dropped. Each reports a running total per epoch. */
export class DroppedReports {
  readonly #maxSources: number;
  readonly #before: (source: string, epoch: string) => number;
  readonly #bySource = new Map<string, DroppedReport>();
  #news = new Map<string, DroppedReport>();
  #total = 0;

  /** @param before what others have summed up already, of a source that wasn't heard here yet */
  constructor(maxSources: number, before: (source: string, epoch: string) => number = () => 0) {
    this.#maxSources = maxSources;
    this.#before = before;
  }

  /** Only grows. */
  get total(): number {
    return this.#total;
  }

  observe({ source, epoch }: RecordIdentity, headers: Readonly<Record<string, string>>): void {
    const header = headers[DROPPED_HEADER];
    if (header === undefined) return;
    const dropped = Number(header);
    if (!Number.isSafeInteger(dropped) || dropped <= 0) return;
    const known = this.#bySource.get(source);
    const before = known?.epoch === epoch ? known.dropped : this.#before(source, epoch);
    if (dropped <= before) return;
    this.#total += dropped - before;
    const report = { source, epoch, dropped };
    this.#bySource.set(source, report);
    this.#news.set(source, report);
    if (this.#bySource.size > this.#maxSources) {
      const oldest = this.#bySource.keys().next().value!;
      this.#bySource.delete(oldest);
      this.#news.delete(oldest);
    }
  }

  /** What is new since the last time. */
  drain(): DroppedReport[] {
    const news = [...this.#news.values()];
    this.#news = new Map();
    return news;
  }
}
